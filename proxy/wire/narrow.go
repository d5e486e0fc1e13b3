package wire

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Blanks are what readers skip before JSON and event streams: white space, and
// the bytes of a byte order mark.
const Blanks = " \t\r\n\xEF\xBB\xBF"

// Narrow returns a body in UTF-8 that begins as JSON in UTF-16 or UTF-32 does,
// and every other as it is. RFC 8259 (section 8.1) has no such JSON, but some
// servers read it.
func Narrow(body []byte) []byte {
	if len(body) < 4 {
		return body
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case body[0] == 0xFE && body[1] == 0xFF, body[0] == 0:
		order = binary.BigEndian
	case body[0] == 0xFF && body[1] == 0xFE, body[1] == 0:
	default:
		return body
	}
	var text []byte
	if order.Uint32(body) < 0x80 || order.Uint32(body) == 0xFEFF {
		for ; len(body) >= 4; body = body[4:] {
			text = utf8.AppendRune(text, rune(order.Uint32(body)))
		}
		return text
	}
	units := make([]uint16, 0, len(body)/2)
	for ; len(body) >= 2; body = body[2:] {
		units = append(units, order.Uint16(body))
	}
	return []byte(string(utf16.Decode(units)))
}
