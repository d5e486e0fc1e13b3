// Package passkeys is what people sign their votes with: WebAuthn credentials, and the
// rules by which a signature counts.
//
// # What is signed
//
// A vote signs a [Statement]: the digests of the call, of the request and of the answer.
// The statement's digest is the challenge of a WebAuthn assertion, so that the
// authenticator's signature covers all three. The signature stands in the vote's audit
// entry with the public key, so that [Checker] verifies it with nothing but the log.
//
// # Which key counts
//
// Whoever holds a person's token can register a key in that person's name, so that
// registering alone is worth nothing. A key counts for its person
//
//   - once a key of that person which counts has signed its fingerprint, or
//   - while its fingerprint stands with the person in the configuration,
//
// and for requests that were made after that, or after the key was registered. Each
// change is an audit entry and an event that channels bring to everybody.
package passkeys
