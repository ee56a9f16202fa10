// Package compat holds Holdfast to what others wrote: another reader of
// server-sent events, a scanner for secrets, and the SDKs of the providers as
// real clients behind the proxy. It is a module of its own, so that none of them
// is ever built into the product; it has tests only.
//
// A first build takes about four minutes on two cores, nearly all of it for the
// SDKs.
package compat
