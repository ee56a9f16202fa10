package toolbox

import (
	"context"
	"path"

	"github.com/holdfast-dev/holdfast"
)

// Policy says whether a tool may be called.
type Policy string

// The policies.
const (
	Allow Policy = "allow"
	Ask   Policy = "ask"  // each call is confirmed by a person
	Deny  Policy = "deny" // the tool is not offered
)

// stricter orders the policies.
var stricter = map[Policy]int{Allow: 1, Ask: 2, Deny: 3}

// Answer is what a person says to a call.
type Answer int

// The answers.
const (
	No     Answer = iota
	Once          // this call
	Always        // every call of this tool, until the Box is closed
)

// policies are patterns of names, in the form of path.Match, with what holds for
// them.
type policies map[string]Policy

func (p policies) check() error {
	for pattern, policy := range p {
		if _, err := path.Match(pattern, ""); err != nil {
			return holdfast.Errorf(holdfast.ErrConfig, "the tool pattern %q is malformed. Write a name such as fs_list, or one with * such as github_*", pattern)
		}
		if stricter[policy] == 0 {
			return holdfast.Errorf(holdfast.ErrConfig, "the policy %q of the tools %q is unknown. Write allow, ask or deny", policy, pattern)
		}
	}
	return nil
}

// of is the policy for a name. A pattern that denies it counts, whatever others
// say. Of the rest it is that of the longest pattern, and the stricter one of
// patterns that are equally long, so that the order of a table does not count.
func (p policies) of(name string, unless Policy) Policy {
	found, length := unless, -1
	for pattern, policy := range p {
		if ok, err := path.Match(pattern, name); err != nil || !ok {
			continue
		}
		if policy == Deny {
			return Deny
		}
		if len(pattern) < length {
			continue
		}
		if len(pattern) > length || stricter[policy] > stricter[found] {
			found, length = policy, len(pattern)
		}
	}
	return found
}

// permit tells why a call is not made; "" when it is.
func (b *Box) permit(ctx context.Context, t tool, call holdfast.ToolCall) (refusal string, err error) {
	if t.policy == Deny {
		return "the configuration does not allow this tool", nil
	}
	if t.policy == Allow {
		return "", nil
	}
	if b.cfg.Ask == nil {
		return "this call needs a confirmation, and nobody is there to give it", nil
	}
	b.asking.Lock()
	defer b.asking.Unlock()
	if b.always[t.Name] {
		return "", nil
	}
	answer, err := b.cfg.Ask(ctx, call)
	switch {
	case err != nil:
		return "", err
	case answer == Always:
		b.always[t.Name] = true
	case answer != Once:
		return "the user refused this call", nil
	}
	return "", nil
}
