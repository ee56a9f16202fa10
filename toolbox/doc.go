// Package toolbox holds the tools that a model may call in a query: built-in ones
// that read files and keep the plan, and those of MCP servers.
//
// Laws:
//   - The definitions are the same bytes from call to call: built-in tools first,
//     then the servers in the order given, each one's tools by name. What a server
//     offers is read once; what it says of changes later is not heard.
//   - A name means one tool. Built-in tools keep their names, those of a server
//     are called SERVER_TOOL. Servers whose tools could be taken for others are
//     refused, so that no policy for one ever holds for another.
//   - What goes wrong with a call is told to the model in its result: arguments
//     that do not fit, a refusal, a tool that fails, hangs or is gone. An error ends
//     the turn: the person interrupted, could not be asked, or a result could not
//     be kept.
//   - A server that does not start is a notice, and its tools are missing.
//   - The file tools only read, and only below their directory: not through "..",
//     absolute paths or links that lead out. What is in .git is not there for them.
//   - A model is given text, and images that every provider takes. Of all else it
//     is told what there is. A link to a resource is text too: as media, the
//     provider would fetch it.
//   - Close ends every server with its process group, and waits. Only what left
//     the group, as daemons do, escapes it.
//
// # Long results
//
// A result whose text is above Config.MaxResult is shortened: the model gets its
// beginning and its end. The event of the stream is what is sent on every later
// call, so Run returns the shortened result for it, and hands the whole one to
// Config.Keep before. It is best kept in the same stream, as an event that is
// part of no view: then it is durable before the shortened one is, and is
// exported and erased with the conversation.
//
// The package stores nothing.
package toolbox
