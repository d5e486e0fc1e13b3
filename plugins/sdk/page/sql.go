package page

import "strings"

// Sequences of SQL: what changes data stands out more than the rest of the language.
const (
	sgrKeyword = "\x1b[1;36m"
	sgrChanges = "\x1b[1;31m"
	sgrString  = "\x1b[32m"
)

// keywords are SQL's, in capitals, each with how it looks.
var keywords = func() map[string]string {
	m := map[string]string{}
	for _, w := range strings.Fields("SELECT FROM WHERE AND OR NOT IN IS NULL LIKE JOIN LEFT RIGHT INNER OUTER ON AS SET VALUES INTO TABLE " +
		"DATABASE SCHEMA INDEX VIEW COLUMN GROUP ORDER BY HAVING LIMIT UNION ALL DISTINCT EXISTS CASCADE BEGIN COMMIT ROLLBACK WITH RETURNING TO USING") {
		m[w] = sgrKeyword
	}
	for _, w := range strings.Fields("DELETE DROP TRUNCATE UPDATE ALTER INSERT REPLACE MERGE CREATE GRANT REVOKE RENAME COPY CALL EXECUTE") {
		m[w] = sgrChanges
	}
	return m
}()

// colourSQL colours a line of SQL. What it writes besides sequences is the line.
func colourSQL(line string) string {
	var b strings.Builder
	paint := func(sgr, text string) { b.WriteString(sgr + text + sgrOff) }
	for len(line) > 0 {
		switch n := wordLength(line); {
		case n > 0:
			if sgr := keywords[strings.ToUpper(line[:n])]; sgr != "" {
				paint(sgr, line[:n])
			} else {
				b.WriteString(line[:n])
			}
			line = line[n:]
		case line[0] == '\'':
			end := strings.IndexByte(line[1:], '\'')
			if end < 0 {
				end = len(line) - 2
			}
			paint(sgrString, line[:end+2])
			line = line[end+2:]
		default:
			b.WriteByte(line[0])
			line = line[1:]
		}
	}
	return b.String()
}

// wordLength is how long the word is with which a text begins, in bytes.
func wordLength(s string) int {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return i
		}
	}
	return len(s)
}
