package bedrock_test

import (
	"encoding/binary"
	"hash/crc32"
)

// summed returns a stream with the lengths of its messages cut to what is
// there, and with checksums that match.
func summed(in string) string {
	var out []byte
	for b := []byte(in); len(b) >= 16; {
		total := min(max(int(binary.BigEndian.Uint32(b)&0xffff), 16), len(b))
		m := append([]byte(nil), b[:total]...)
		binary.BigEndian.PutUint32(m, uint32(total))
		binary.BigEndian.PutUint32(m[8:], crc32.ChecksumIEEE(m[:8]))
		binary.BigEndian.PutUint32(m[total-4:], crc32.ChecksumIEEE(m[:total-4]))
		out, b = append(out, m...), b[total:]
	}
	return string(out)
}
