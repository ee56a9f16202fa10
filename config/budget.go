package config

import (
	"math"
	"strings"
)

// Budget bounds what some callers spend together. Amounts are in millionths of a
// US dollar.
type Budget struct {
	// Name is unique, 1 to 64 characters of a-z, 0-9, dot, dash and underscore.
	Name string
	// Principal and Label are patterns of whose the key of a request is, and of what
	// it is called, where * stands for any text; "" for all.
	Principal, Label string
	Per              Period
	// Soft is from where on a warning is given, Hard from where on calls are
	// refused; nil: nowhere. At least one is set, Soft below Hard.
	Soft, Hard *int64
}

// Period is the time for which a budget is given, in UTC.
type Period string

// The periods.
const (
	PerDay   Period = "day"
	PerMonth Period = "month"
)

const (
	budgetKey = "budget"
	maxBudget = 1_000_000_000 // US dollars
)

// budgetFile mirrors an element of budget.
type budgetFile struct {
	Name      *string  `toml:"name"`
	Principal *string  `toml:"principal"`
	Label     *string  `toml:"label"`
	Per       *string  `toml:"per"`
	Soft      *float64 `toml:"soft"`
	Hard      *float64 `toml:"hard"`
}

// budgetKeys are the keys of a budget.
func budgetKeys() []key {
	return []key{
		{name: budgetKey, kind: list, about: "What callers may spend, in US dollars; each holds beside the others. A later layer's list takes the place of the one before."},
		{name: budgetKey + ".name", kind: text("team", upstreamName.String()), about: "Unique; stands in what a refused client reads.", required: true},
		{name: budgetKey + ".principal", kind: text("ci", ""), about: "Pattern of the principal; * stands for any text. Not given: everybody."},
		{name: budgetKey + ".label", kind: text("nightly*", ""), about: "Pattern of the label of the key. Not given: any."},
		{name: budgetKey + ".per", kind: choice(PerDay, PerMonth), about: "The time for which it is given: a day or a month of the calendar, in UTC.", required: true},
		{name: budgetKey + ".soft", kind: money, about: "The amount from which on a warning is given."},
		{name: budgetKey + ".hard", kind: money, about: "The amount from which on calls are refused, with 402. 0: from the first one on."},
	}
}

// budgets reads the budgets one by one.
func (r *reader) budgets(f file) ([]Budget, error) {
	var list []Budget
	for i, in := range f.Budget {
		key := element(budgetKey, i)
		for _, k := range budgetKeys() {
			name, ok := strings.CutPrefix(k.name, budgetKey+".")
			if ok && k.required && !r.has(key+"."+name) {
				return nil, r.fail(r.places[key], "this budget has no %s. Add one: %s", name, k.form)
			}
		}
		var b Budget
		if set(&b.Name, in.Name); !upstreamName.MatchString(b.Name) {
			return nil, r.at(key+".name", "must be 1 to 64 characters of a-z, 0-9, dot, dash and underscore")
		}
		for _, other := range list {
			if other.Name == b.Name {
				return nil, r.at(key+".name", "%q is already the name of an earlier budget. Give it another", b.Name)
			}
		}
		for _, s := range []struct {
			name    string
			in, out *string
		}{{".principal", in.Principal, &b.Principal}, {".label", in.Label, &b.Label}} {
			if set(s.out, s.in); s.in != nil && strings.Trim(*s.out, "*") == "" {
				return nil, r.at(key+s.name, "= %q tells nobody apart. Remove it, or write %s", *s.out, r.form(key+s.name))
			}
		}
		if err := choose(r, key+".per", in.Per, &b.Per); err != nil {
			return nil, err
		}
		for _, a := range []struct {
			name string
			in   *float64
			out  **int64
		}{{".soft", in.Soft, &b.Soft}, {".hard", in.Hard, &b.Hard}} {
			switch {
			case a.in == nil:
			case *a.in == 0 || *a.in >= 0.01 && *a.in <= maxBudget:
				*a.out = new(int64(math.Round(*a.in * 1e6)))
			default:
				return nil, r.at(key+a.name, "must be 0, or from 0.01 to %d US dollars", maxBudget)
			}
		}
		switch {
		case b.Soft == nil && b.Hard == nil:
			return nil, r.fail(r.places[key], "this budget bounds nothing. Add hard, soft or both, in US dollars")
		case b.Soft != nil && *b.Soft == 0:
			return nil, r.at(key+".soft", "= 0 warns of nothing. Remove it, or give an amount")
		case b.Soft != nil && b.Hard != nil && *b.Soft >= *b.Hard:
			return nil, r.at(key+".soft", "must be below hard, which refuses calls from there on")
		}
		list = append(list, b)
	}
	return list, nil
}

func budgetsTree(list []Budget) *node {
	if len(list) == 0 {
		return nil
	}
	n := &node{name: budgetKey, list: true}
	for _, b := range list {
		row := section("", leaf("name", b.Name))
		for _, s := range []struct{ name, value string }{{"principal", b.Principal}, {"label", b.Label}} {
			if s.value != "" {
				row.fields = append(row.fields, leaf(s.name, s.value))
			}
		}
		row.fields = append(row.fields, leaf("per", string(b.Per)))
		for _, a := range []struct {
			name   string
			amount *int64
		}{{"soft", b.Soft}, {"hard", b.Hard}} {
			if a.amount != nil {
				row.fields = append(row.fields, leaf(a.name, float64(*a.amount)/1e6))
			}
		}
		n.fields = append(n.fields, row)
	}
	return n
}
