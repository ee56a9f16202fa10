package main

import (
	"regexp"
	"strings"
)

// What the parser of command lines says of flags, and how a person is told of it.
var (
	noNumber = regexp.MustCompile(`: strconv\.\w+: parsing ".*": (?:invalid syntax|value out of range)$`)
	notBoth  = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
	notNone  = regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`)
)

// plainly words an error of the parser.
func plainly(text string) string {
	flags := func(names, joined string) string {
		list := strings.Fields(names)
		for i, name := range list {
			list[i] = "--" + name
		}
		last := len(list) - 1
		return strings.Join(list[:last], ", ") + joined + list[last]
	}
	if m := notBoth.FindStringSubmatch(text); m != nil {
		return flags(m[1], " and ") + " exclude each other. Give one of them"
	}
	if m := notNone.FindStringSubmatch(text); m != nil {
		return "Give one of " + flags(m[1], " or ")
	}
	if at := noNumber.FindStringIndex(text); at != nil {
		what := "a whole number"
		if strings.Contains(text[at[0]:], "ParseBool") {
			what = "true or false"
		} else if strings.HasSuffix(text, "value out of range") {
			what = "a smaller number"
		}
		return text[:at[0]] + ". Give " + what
	}
	return text
}
