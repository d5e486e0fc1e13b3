package grammar

import (
	"strconv"
	"strings"
)

// UnescapeQuoted takes out the backslashes that mean something in double
// quotes, or in a here-document, where they do not escape a quote.
func UnescapeQuoted(v string, heredoc bool) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	special := "$`\\\""
	if heredoc {
		special = "$`\\"
	}
	var sb strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) {
			if v[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, v[i+1]) >= 0 {
				i++
			}
		}
		sb.WriteByte(v[i])
	}
	return sb.String()
}

// AnsiC decodes the escapes of $'...' (bash manual, ANSI-C Quoting).
func AnsiC(v string) string {
	var sb strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			sb.WriteByte(v[i])
			continue
		}
		i++
		switch c := v[i]; {
		case c == '\'' || c == '"' || c == '?':
			sb.WriteByte(c)
		case c == 'c' && i+1 < len(v):
			i++
			sb.WriteByte(v[i] & 0x1f)
		case c == 'u' || c == 'U' || c == 'x':
			n := map[byte]int{'u': 4, 'U': 8, 'x': 2}[c]
			j := i + 1
			for j < len(v) && j-i <= n && strings.IndexByte("0123456789abcdefABCDEF", v[j]) >= 0 {
				j++
			}
			code, err := strconv.ParseUint(v[i+1:j], 16, 32)
			switch {
			case err != nil:
				sb.WriteString(v[i-1 : j])
			case c == 'x':
				sb.WriteByte(byte(code))
			default:
				sb.WriteRune(rune(code))
			}
			i = j - 1
		case c >= '0' && c <= '7':
			j := i
			for j < len(v) && j-i < 3 && v[j] >= '0' && v[j] <= '7' {
				j++
			}
			code, _ := strconv.ParseUint(v[i:j], 8, 32)
			sb.WriteByte(byte(code))
			i = j - 1
		case strings.IndexByte(`abefnrtv\E`, c) >= 0:
			sb.WriteByte("\a\b\x1b\f\n\r\t\v\\\x1b"[strings.IndexByte(`abefnrtv\E`, c)])
		default:
			sb.WriteByte('\\')
			sb.WriteByte(c)
		}
	}
	return sb.String()
}
