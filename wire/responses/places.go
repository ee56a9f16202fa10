package responses

import "strconv"

// places tells the items of an answer apart. Events name theirs by output_index. From
// servers that leave it out, as llama.cpp does
// (https://github.com/ggml-org/llama.cpp/issues/20607), it is the id of the item, and a
// piece without one is of the newest item. The zero value is ready.
type places struct {
	ids  map[string]int
	next int    // behind the last place
	open string // the kind of the newest item, where that has no id and is not done
}

// of is the place of the item that an event is about; named is false where the event
// does not tell.
func (p *places) of(ev *event) (place int, named bool) {
	place, err := strconv.Atoi(string(ev.of(eventOutput)))
	whole := ev.fields[eventItem].Present()
	if err == nil && !whole {
		return place, true
	}
	id, kind := ev.text(eventItemID), "message"
	if whole {
		it := ev.item()
		kind = it.kind
		// The pieces of a call without an id name its call_id.
		if id = it.text(fieldID); id == "" {
			id = it.text(fieldCall)
		}
	}
	ends := ev.kind == "response.output_item.done"
	if err != nil {
		known, ok := p.ids[id]
		switch {
		case ok && id != "":
			place = known
		case !whole && id == "" && p.next > 0, ends && p.open == kind:
			place = p.next - 1
		default:
			place, p.open = p.next, ""
			if id == "" {
				p.open = kind
			}
		}
	}
	if ends {
		p.open = ""
	}
	if id != "" {
		if p.ids == nil {
			p.ids = map[string]int{}
		}
		p.ids[id] = place
	}
	p.next = max(p.next, place+1)
	return place, err == nil || id != ""
}
