// Package tools keeps what MCP servers say of their tools, as it is learned from the
// lists that pass by ([Keeper.Learn]). The first definition of a tool counts as
// accepted. Another one is a change until a person approves a call after a briefing
// that shows the difference ([Keeper.Accept]): the outcome's own transaction accepts
// it, and nothing else does, neither silence nor a grant. As long as a tool is
// changed no grant answers for its calls, and none can be made of them.
//
// # What is stored
//
//	tool/DIGEST          what an MCP server says of a tool, and what of that was accepted
//	tool-server/DIGEST   a server whose last list of tools could not be read
package tools
