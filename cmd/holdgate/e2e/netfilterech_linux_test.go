package e2e_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/tls"
	endian "encoding/binary"
	"testing"
)

// probeECH asks for a host whose name is encrypted: the name outside is that of
// another host (RFC 9849).
func probeECH(p probe) (string, error) {
	config, _, err := helloConfig()
	if err != nil {
		return "", err
	}
	list := endian.BigEndian.AppendUint16(nil, uint16(len(config)))
	return probeTLS(p, &tls.Config{EncryptedClientHelloConfigList: append(list, config...)})
}

// helloConfig is an ECHConfig (RFC 9849 section 4) whose outer name is up4.example,
// and its key, the same for the server and for who asks.
func helloConfig() (config, private []byte, err error) {
	private = bytes.Repeat([]byte{7}, 32)
	key, err := ecdh.X25519().NewPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	const public = "up4.example"
	body := []byte{1, 0x00, 0x20, 0, 32} // id; DHKEM(X25519, HKDF-SHA256), key's length
	body = append(body, key.PublicKey().Bytes()...)
	body = append(body, 0, 4, 0x00, 0x01, 0x00, 0x01, 32, byte(len(public))) // HKDF-SHA256 with AES-128-GCM; longest name
	body = append(append(body, public...), 0, 0)                             // no extensions
	config = endian.BigEndian.AppendUint16([]byte{0xfe, 0x0d}, uint16(len(body)))
	return append(config, body...), private, nil
}

func encryptedHello(t *testing.T) (config, private []byte) {
	t.Helper()
	config, private, err := helloConfig()
	if err != nil {
		t.Fatal(err)
	}
	return config, private
}
