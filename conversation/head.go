package conversation

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdfast-dev/holdfast"
)

// FormVersion is the version of the line form.
const FormVersion = 1

// Head is what a file says of its conversation, in its first line. All of it may
// be missing.
type Head struct {
	Version   int // of the line form; 0 where it is not said
	ID        holdfast.ConversationID
	Title     string
	Agent     string
	CreatedAt time.Time
	// Parent and ParentSeq tell where a fork left another conversation.
	Parent    holdfast.ConversationID
	ParentSeq int64
}

type headForm struct {
	Kind      string                  `json:"kind"`
	Version   int                     `json:"version"`
	ID        holdfast.ConversationID `json:"id,omitzero"`
	Title     string                  `json:"title,omitzero"`
	Agent     string                  `json:"agent,omitzero"`
	CreatedAt time.Time               `json:"created_at,omitzero"`
	Parent    holdfast.ConversationID `json:"parent,omitzero"`
	ParentSeq int64                   `json:"parent_event,omitzero"`
}

// AppendHead appends the head's line to dst, without a line break.
func AppendHead(dst []byte, h Head) []byte {
	// A head holds nothing that has no JSON form.
	line, _ := json.Marshal(headForm{
		Kind: KindHead, Version: FormVersion, ID: h.ID, Title: h.Title, Agent: h.Agent,
		CreatedAt: h.CreatedAt.UTC(), Parent: h.Parent, ParentSeq: h.ParentSeq,
	})
	return append(dst, line...)
}

// ParseHead reads a head's line. ok is false for a line of another kind. A later
// version is an error with the code newer_schema.
func ParseHead(line []byte) (h Head, ok bool, err error) {
	var f headForm
	if json.Unmarshal(line, &f) != nil || f.Kind != KindHead {
		return Head{}, false, nil
	}
	if f.Version > FormVersion {
		return Head{}, true, holdfast.Errorf(holdfast.ErrNewer,
			"the file was written in version %d of the form, this program reads up to %d. Use a newer holdfast", f.Version, FormVersion)
	}
	return Head{
		Version: f.Version, ID: f.ID, Title: f.Title, Agent: f.Agent,
		CreatedAt: f.CreatedAt.UTC(), Parent: f.Parent, ParentSeq: f.ParentSeq,
	}, true, nil
}
