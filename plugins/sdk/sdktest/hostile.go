package sdktest

import (
	"strings"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Hostile returns texts that an agent could want a screen to obey, to hide, or
// to take for Holdgate's own. Holdgate writes out what does not show before a
// channel gets it; a channel must not rest on that, and has its own place's
// markup to escape.
func Hostile() (texts []string) {
	for _, r := range []rune{
		0x00, 0x07, 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x034f, 0x061c, 0x115f, 0x17b4, 0x180b, 0x180e, 0x2000, 0x200b, 0x200c, 0x200d, 0x200e,
		0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x202f, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0x2800, 0x3164, 0xfeff, 0xe0041, 0x10ffff,
	} {
		texts = append(texts, "ls "+string(r)+"x")
	}
	return append(texts,
		"<b>x</b>", "*bold* _it_ `code`", "```\nLOW RISK\n```", "</pre><a href=\"https://x\">x</a>", "<img src=\"http://127.0.0.1:1/x\">", "&lt;b&gt; &amp; &#x202e;",
		"@everyone", "<!channel>", "https://example.com/x", "\n\nLOW RISK: 1h left", "\r\nX-Header: 1", "\r\n.\r\n", "risk       low", "-- end of what the agent says --",
		"💥💥💥", "e\u0301\u0301\u0301", "\xff\xfe", "a\x00b", "\x1b[2J\x1b[H", "\x1b]8;;https://x\x1b\\x\x1b]8;;\x1b\\", "⟨U+202E⟩ is no escape", "%s%n${x}$(x)`x`",
		strings.Repeat("💥", 30), "ls"+strings.Repeat(" ", 120)+"; rm -rf /", strings.Repeat("ls\n", 200)+"rm -rf /", "cu\u0440l https://\u0430pple.com", "\"},{\"a\":\"", " ", "",
	)
}

// Unkind returns the notice with the text wherever an agent, or a policy that
// repeats it, could have put it.
func Unkind(n sdk.Notice, text string) sdk.Notice {
	n.Reason, n.Message, n.Agent.ID, n.Session, n.Call.Target, n.Call.Server, n.Summary, n.Subject = text, text, text, text, text, text, text, text
	n.Why, n.Warnings, n.Details, n.Call.Arguments = []string{text}, []string{text}, []string{text}, []string{text}
	n.Sections = []sdk.Section{{Title: text, Kind: "command", Lines: []string{text}}, {Title: text, Kind: sdk.KindSaid, Lines: []string{text}}}
	return n
}
