package email

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// attribution is what mail programs write above a quotation, in the languages
// that are seen most.
var attribution = regexp.MustCompile(`(?i)^\s*(on\b.*\bwrote|am\b.*\bschrieb.*|le\b.*\ba écrit|el\b.*\bescribió|il\b.*\bha scritto|op\b.*\bschreef.*|em\b.*\bescreveu)\s*:\s*$`)

// separator begins what is no longer the writer's.
var separator = regexp.MustCompile(`(?i)^\s*(-{2,}\s*(original message|ursprüngliche nachricht|message d'origine|forwarded message)\s*-{2,}|_{10,}|from:\s.*|von:\s.*|de\s?:\s.*)\s*$`)

// unquoted is what the writer of a reply wrote: what stands above the first
// sign of a quotation, and above the signature.
func unquoted(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if quotes(lines, i) || line == "-- " || line == "--" {
			lines = lines[:i]
			break
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// quotes reports whether a quotation begins at line i: an attribution can be
// broken over two lines.
func quotes(lines []string, i int) bool {
	line := lines[i]
	switch {
	case strings.Contains(line, above), strings.HasPrefix(strings.TrimLeft(line, " \t"), ">"):
		return true
	case attribution.MatchString(line), separator.MatchString(line):
		return true
	}
	return i+1 < len(lines) && !strings.HasSuffix(strings.TrimSpace(line), ":") && attribution.MatchString(line+" "+lines[i+1])
}

// textOf is the text of HTML, without what it quotes.
func textOf(source string) string {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return ""
	}
	var b strings.Builder
	plain(&b, doc)
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

// plain writes the text of a node. It reports false where the rest of the
// document is a quotation.
func plain(b *strings.Builder, n *html.Node) bool {
	if n.Type == html.TextNode {
		b.WriteString(strings.NewReplacer("\r", " ", "\n", " ").Replace(n.Data))
		return true
	}
	block := false
	if n.Type == html.ElementNode {
		if n.DataAtom == atom.Blockquote || marks(n) {
			return false
		}
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Head, atom.Title, atom.Template, atom.Noscript:
			return true
		case atom.Br, atom.Hr:
			b.WriteString("\n")
		case atom.P, atom.Div, atom.Li, atom.Tr, atom.Pre, atom.H1, atom.H2, atom.H3, atom.Ul, atom.Ol, atom.Table:
			block = true
			b.WriteString("\n")
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if !plain(b, child) {
			return false
		}
	}
	if block {
		b.WriteString("\n")
	}
	return true
}

// marks reports whether a mail program has marked the element as where its
// quotation begins.
func marks(n *html.Node) bool {
	for _, a := range n.Attr {
		v := strings.ToLower(a.Val)
		switch a.Key {
		case "class":
			for _, class := range strings.Fields(v) {
				if class == "gmail_quote" || class == "gmail_quote_container" || class == "moz-cite-prefix" || class == "yahoo_quoted" || class == "protonmail_quote" {
					return true
				}
			}
		case "id":
			if v == "divrplyfwdmsg" || v == "appendonsend" || v == "mail-editor-reference-message-container" {
				return true
			}
		}
	}
	return false
}
