// Package ledger keeps account of upstream calls: one record for each, with what
// it took and what that cost. It is there so that a person sees where tokens and
// money go, and so that budgets can rest on it.
//
// What is stored: a holdfast.Attempt for every call of a model, by whoever it was
// made. Primary are the calls that an agent makes through the proxy, all of them,
// and those of a query's turn; auxiliary are those that Holdfast makes besides:
// summaries, titles, the extractor's. Nothing that was said is in a record: a name
// of a model is the freest text in it, cut to MaxModel bytes. Records are kept for
// Config.TTL from when the call began, whatever becomes of the session or the
// conversation that they name.
//
// Laws:
//   - A call that was sent is recorded, however it ended: also one that was
//     refused, that nobody answered, or that the client left.
//   - What the provider did not tell is unknown and not zero. A budget counts an
//     estimate of it, by the bytes that went and came: else a caller who breaks
//     each answer off would pay for nothing. No sum of usage has estimates in it.
//   - A budget counts what is stored and, at once, what is about to be, so nothing
//     drifts when a process ends. Calls that are under way when a hard limit is reached are not
//     cut off, and what another process spends counts within five seconds.
//   - Money fails closed: where a hard limit holds, a call that nobody knows the
//     price of is refused, and so is what may cost and is no call of a model.
//   - A cost is computed once, with the price of that day, and the record holds
//     both: a later price changes no past.
//   - Record returns within microseconds and waits for nobody. What is recorded is
//     written within 200 ms, many records in one transaction; a process that is
//     killed loses no more than that.
//   - While the store fails, records wait in memory. Only where more than 64 Ki
//     wait are further ones lost, which is counted and said.
package ledger
