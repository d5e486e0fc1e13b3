package launch

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the format has no other
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode/utf16"
)

// Java reads certificates from a store of its own kind and heeds no variable for
// proxies, but takes options from one.
const javaVariable = "JAVA_TOOL_OPTIONS"

// javaPassword is what Java's own store is closed with. It keeps nothing secret:
// what is in the store are certificates.
const javaPassword = "changeit"

// javaStore is a store of the certificates in PEM text, in the form JKS that every
// Java reads (sun.security.provider.JavaKeyStore): numbers in network order, and at
// the end a SHA-1 over the password and all before.
func javaStore(text []byte) []byte {
	var entries bytes.Buffer
	count := uint32(0)
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		entry := binary.BigEndian.AppendUint32(nil, 2)                     // a certificate that is trusted
		entry = javaText(entry, fmt.Sprintf("ca%d", count))                // its name
		entry = binary.BigEndian.AppendUint64(entry, 0)                    // when it was put in
		entry = javaText(entry, "X.509")                                   //
		entry = binary.BigEndian.AppendUint32(entry, uint32(len(b.Bytes))) // its length
		entries.Write(append(entry, b.Bytes...))
		count++
	}
	store := binary.BigEndian.AppendUint32(nil, 0xfeedfeed)
	store = binary.BigEndian.AppendUint32(store, 2) // of the form
	store = binary.BigEndian.AppendUint32(store, count)
	store = append(store, entries.Bytes()...)
	var password []byte
	for _, u := range utf16.Encode([]rune(javaPassword)) {
		password = binary.BigEndian.AppendUint16(password, u)
	}
	sum := sha1.Sum(slices.Concat(password, []byte("Mighty Aphrodite"), store)) //nolint:gosec // as above
	return append(store, sum[:]...)
}

// javaText writes a text as java.io.DataOutput.writeUTF does, of ASCII.
func javaText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// javaOptions are those for programs in Java, behind what the person has set.
func javaOptions(before string, w Way) string {
	options := []string{`"-Djavax.net.ssl.trustStore=` + w.JavaStore + `"`, "-Djavax.net.ssl.trustStoreType=JKS", "-Djavax.net.ssl.trustStorePassword=" + javaPassword}
	if host, port, err := net.SplitHostPort(w.Agents); err == nil {
		for _, scheme := range []string{"http", "https"} {
			options = append(options, "-D"+scheme+".proxyHost="+host, "-D"+scheme+".proxyPort="+port)
		}
		options = append(options, `"-Dhttp.nonProxyHosts=`+strings.ReplaceAll(w.NoProxy, ",", "|")+`"`) // for https too
	}
	return strings.TrimSpace(before + " " + strings.Join(options, " "))
}
