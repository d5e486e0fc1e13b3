package telegram

// The objects of the Bot API, as far as they are used here
// (core.telegram.org/bots/api#available-types).

type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Callback *callback `json:"callback_query"`
}

type message struct {
	ID      int64    `json:"message_id"`
	From    *account `json:"from"`
	Chat    chat     `json:"chat"`
	Text    string   `json:"text"`
	ReplyTo *message `json:"reply_to_message"`
	// Who speaks is not the account that From names where one of these is set.
	SenderChat *chat `json:"sender_chat"`
	Forward    any   `json:"forward_origin"`
	ViaBot     any   `json:"via_bot"`
}

type chat struct {
	ID int64 `json:"id"`
}

type account struct {
	ID    int64 `json:"id"`
	IsBot bool  `json:"is_bot"`
}

type callback struct {
	ID      string   `json:"id"`
	From    account  `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type getUpdates struct {
	Offset  int64    `json:"offset,omitzero"`
	Timeout int      `json:"timeout"` // seconds
	Allowed []string `json:"allowed_updates"`
}

type sendMessage struct {
	Chat     int64    `json:"chat_id"`
	Message  int64    `json:"message_id,omitzero"` // of editMessageText
	Text     string   `json:"text"`
	Entities []entity `json:"entities"`
	Preview  preview  `json:"link_preview_options"`
	Reply    *replyTo `json:"reply_parameters,omitzero"`
	Markup   any      `json:"reply_markup,omitzero"`
}

// An entity says how a part of a text looks; offsets and lengths are in UTF-16
// code units.
type entity struct {
	Type   string   `json:"type"`
	Offset int      `json:"offset"`
	Length int      `json:"length"`
	User   *account `json:"user,omitzero"` // of text_mention
}

type preview struct {
	Disabled bool `json:"is_disabled"`
}

type replyTo struct {
	Message int64 `json:"message_id"`
	Lenient bool  `json:"allow_sending_without_reply"`
}

type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

type forceReply struct {
	Force     bool `json:"force_reply"`
	Selective bool `json:"selective"`
}

type answerCallback struct {
	ID    string `json:"callback_query_id"`
	Text  string `json:"text,omitzero"`
	Alert bool   `json:"show_alert,omitzero"`
}
