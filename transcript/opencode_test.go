package transcript

import (
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite" // the driver

	"github.com/holdfast-dev/holdfast"
)

// openCode is one session with its subagent: the messages of each with their parts.
var openCode = []struct {
	info     string
	messages [][]string
}{
	{
		info: `{"id":"ses_1","title":"Queue","time":{"created":1767323040000}}`,
		messages: [][]string{
			{`{"id":"msg_1","role":"user","time":{"created":1767323041000}}`, `{"id":"prt_1","type":"text","text":"Sort."}`, `{"id":"prt_2","type":"text","synthetic":true,"text":"Read a file."}`, `{"id":"prt_3","type":"file","mime":"image/png","filename":"a.png","url":"data:image/png;base64,QQ=="}`},
			{
				`{"id":"msg_2","role":"assistant","time":{"created":1767323042000},"modelID":"m","cost":0.25,"tokens":{"input":3,"output":4,"reasoning":5,"cache":{"read":6,"write":7}}}`,
				`{"id":"prt_4","type":"step-start"}`, `{"id":"prt_5","type":"reasoning","text":"By age.","metadata":{"anthropic":{"signature":"sig"}}}`, `{"id":"prt_6","type":"text","text":"Reading."}`,
				`{"id":"prt_7","type":"tool","tool":"todowrite","callID":"c1","state":{"status":"completed","input":{"todos":[]},"output":"[]"}}`,
				`{"id":"prt_8","type":"tool","tool":"read","callID":"c2","state":{"status":"error","input":{},"error":"gone"}}`,
				`{"id":"prt_9","type":"tool","tool":"bash","callID":"c3","state":{"status":"running","input":{}}}`,
			},
			{`{"id":"msg_3","role":"user","time":{"created":1767323043000}}`, `{"id":"prt_a","type":"text","text":"Again."}`},
			{`{"id":"msg_4","role":"user","time":{"created":1767323044000}}`, `{"id":"prt_b","type":"compaction","auto":true,"tail_start_id":"msg_3"}`},
			{`{"id":"msg_5","role":"assistant","summary":true,"modelID":"m","time":{"created":1767323045000},"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}`, `{"id":"prt_c","type":"text","text":"Sorting failed."}`},
			{`{"id":"msg_6","role":"assistant","modelID":"m","time":{"created":1767323046000}}`, `{"id":"prt_d","type":"text","text":"Sorted."}`},
		},
	},
	{
		info:     `{"id":"ses_2","parentID":"ses_1","title":"Helper","time":{"created":1767323042000}}`,
		messages: [][]string{{`{"id":"msg_7","role":"user","summary":{"title":"t"},"time":{"created":1767323042000}}`, `{"id":"prt_e","type":"text","text":"Look."}`}},
	},
}

var openCodeTold = []string{
	"session ses_1 called Queue",
	"turn",
	"user Sort. + [image image/pnga.pngQQ==]",
	"synthetic Read a file.",
	`reasoning By age. {"type":"thinking","thinking":"By age.","signature":"sig"}`,
	"assistant Reading.",
	`call c1 todowrite {"todos":[]}`,
	"result c1 []",
	"call c2 read {}",
	"error c2 gone",
	"call c3 bash {}",
	"usage turn m in 3 read 6 write 7 out 9 cost 250000",
	"turn",
	"user Again.",
	"compaction by agent 0..0 generated Sorting failed.",
	"usage summary m in 1 read 0 write 0 out 1",
	"assistant Sorted.",
	"session ses_2 called Helper of ses_1",
	"turn",
	"user Look.",
}

// openCodeExport is the first session as "opencode export" writes it.
func openCodeExport() string {
	var messages []string
	for _, m := range openCode[0].messages {
		messages = append(messages, fmt.Sprintf(`{"info":%s,"parts":[%s]}`, m[0], strings.Join(m[1:], ",")))
	}
	return fmt.Sprintf(`{"info":%s,"messages":[%s]}`, openCode[0].info, strings.Join(messages, ","))
}

func openCodeFiles() fstest.MapFS {
	files := fstest.MapFS{}
	put := func(path, doc string) { files[path+".json"] = &fstest.MapFile{Data: []byte(doc)} }
	for i, s := range openCode {
		session := fmt.Sprintf("ses_%d", i+1)
		put("session/global/"+session, s.info)
		for _, m := range s.messages {
			id := idIn(m[0])
			put("message/"+session+"/"+id, m[0])
			for _, p := range m[1:] {
				put("part/"+id+"/"+idIn(p), p)
			}
		}
	}
	return files
}

// idIn is the id that a record begins with.
func idIn(doc string) string { return strings.Split(doc, `"`)[3] }

func openCodeDB(t *testing.T) *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	do := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, title text, time_created integer)`)
	do(`CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text)`)
	do(`CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text)`)
	for i, s := range openCode {
		session := fmt.Sprintf("ses_%d", i+1)
		do(`INSERT INTO session SELECT ?, 'global', json_extract(?2, '$.parentID'), json_extract(?2, '$.title'), json_extract(?2, '$.time.created')`, session, s.info)
		for _, m := range s.messages {
			// The columns hold the ids, the documents do not.
			do(`INSERT INTO message SELECT json_extract(?2, '$.id'), ?1, json_extract(?2, '$.time.created'), json_remove(?2, '$.id')`, session, m[0])
			for _, p := range m[1:] {
				do(`INSERT INTO part SELECT json_extract(?2, '$.id'), ?3, ?1, 0, json_remove(?2, '$.id')`, session, p, idIn(m[0]))
			}
		}
	}
	return db
}

// all prints items, and those that are events with their ids.
func all(t *testing.T, items iter.Seq2[Item, error]) (shown []string, ids []holdfast.EventID) {
	t.Helper()
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, show(item))
		if e, ok := item.(Event); ok {
			ids = append(ids, e.Entry.ID)
		}
	}
	return shown, ids
}

func TestOpenCodeIsReadTheSameFromItsDatabaseItsFilesAndAnExport(t *testing.T) {
	_, ids := all(t, OpenCodeDB(t.Context(), openCodeDB(t), asAgents))
	for name, c := range map[string]struct {
		items iter.Seq2[Item, error]
		want  []string
	}{
		"database": {OpenCodeDB(t.Context(), openCodeDB(t), asAgents), openCodeTold},
		"files":    {OpenCodeFiles(openCodeFiles(), asAgents), openCodeTold},
		"export":   {Read(OpenCode, strings.NewReader(openCodeExport()), "x.json", asAgents), openCodeTold[:17]},
	} {
		t.Run(name, func(t *testing.T) {
			got, its := all(t, c.items)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			for i, id := range its {
				if id != ids[i] {
					t.Errorf("event %d has the id %s here, %s in the database", i, id, ids[i])
				}
			}
		})
	}
}

func TestDamagedRecordsOfOpenCodeAreNamed(t *testing.T) {
	files := openCodeFiles()
	files["message/ses_1/msg_2.json"].Data = []byte(`{"id":`)
	files["part/msg_3/prt_a.json"].Data = []byte(`{"text":7}`)
	files["session/global/ses_0.json"] = &fstest.MapFile{Data: []byte(`[]`)}
	got, _ := all(t, OpenCodeFiles(files, asAgents))
	want := []string{
		"damage 1: what is told of a session is no JSON object with an id",
		"session ses_1 called Queue",
		"turn",
		"user Sort. + [image image/pnga.pngQQ==]",
		"synthetic Read a file.",
		"damage 2: what is told of a message: it is no JSON, or breaks off, at byte 6",
		"damage 3: a part: text holds a value of the wrong type",
	}
	if len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("read\n%s\nwant first\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestADatabaseThatIsNotOpenCodesIsUnavailable(t *testing.T) {
	db := openCodeDB(t)
	if _, err := db.Exec(`DROP TABLE part`); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range OpenCodeDB(t.Context(), db, asAgents) {
		last = err
	}
	if holdfast.CodeOf(last) != holdfast.ErrUnavailable {
		t.Errorf("the error is %v", last)
	}
}
