package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	neturl "net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// ailment is what a check found.
type ailment struct {
	Check  string `json:"check"`  // configuration, upstream, database, server, traffic
	Status string `json:"status"` // ok, note, failed
	// What is a sentence, Next what to do; "" for nothing.
	What string `json:"what"`
	Next string `json:"next,omitempty"`
}

const (
	healthy = "ok"
	noted   = "note"
	ailing  = "failed"
)

// doctor collects what the checks find.
type doctor struct{ found []ailment }

func (d *doctor) say(check, status, what, next string) {
	d.found = append(d.found, ailment{check, status, what, next})
}

// fault is an error of a check: its own words tell what to do.
func (d *doctor) fault(check string, err error) { d.say(check, ailing, err.Error(), "") }

func (a *app) doctorCommand() *cobra.Command {
	var url, keyFile string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether all is well, and what went past the proxy unread",
		Long: "Looks at the configuration, the keys of upstreams, the database and the running server, and at\n" +
			"what the server has counted since its start: requests that could not be linked, histories that\n" +
			"shrank though no compaction was recognised (an agent may have changed its prompts), records that\n" +
			"were not written. It changes nothing, calls no provider, and shows no text of sessions. Exit\n" +
			"status 1 says that a check failed.",
		Example: "  holdfast doctor\n  holdfast doctor --url http://127.0.0.1:8080 --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u, err := neturl.Parse(url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return holdfast.Errorf(holdfast.ErrUsage, "--url %s is no address of a server. Write it such as http://127.0.0.1:4141", url)
			}
			d := &doctor{}
			a.examineConfig(d)
			a.examineDatabase(cmd.Context(), d)
			key := ""
			if keyFile != "" {
				text, err := os.ReadFile(keyFile)
				if err != nil {
					return holdfast.Errorf(holdfast.ErrNotFound, "the key cannot be read: %w", err)
				}
				key = strings.TrimSpace(string(text))
			}
			examineServer(cmd.Context(), d, strings.TrimSuffix(url, "/"), key)
			return a.printDoctor(d.found)
		},
	}
	c.Flags().StringVar(&url, "url", "http://127.0.0.1:4141", "where the server listens")
	c.Flags().StringVar(&keyFile, "key-file", "", "file with a key of holdfast key create, where the server asks for one")
	return c
}

func (a *app) examineConfig(d *doctor) {
	const check = "configuration"
	merged, err := a.load()
	if err != nil {
		d.fault(check, err)
		return
	}
	d.say(check, healthy, fmt.Sprintf("It is read, with %s.", count(len(merged.Upstreams), "upstream", "upstreams")), "")
	m := a.newModels(merged.Config)
	for i, u := range m.upstreams {
		variable := m.catalogue.KeyName(u)
		key, err := credential(m.refs[i], variable, a.environ)
		name := fmt.Sprintf("%s, %s at %s", u.Name, u.Protocol, u.Base)
		switch {
		case err != nil:
			d.say("upstream", ailing, fmt.Sprintf("%s: %v.", name, err), "")
		case key != "":
			d.say("upstream", healthy, name+": there is a key.", "")
		case variable == "":
			d.say("upstream", healthy, name+": no key is set; agents send theirs.", "")
		default:
			d.say("upstream", healthy, fmt.Sprintf("%s: %s is not set; agents send their own keys, and holdfast query needs it.", name, variable), "")
		}
	}
	if x := merged.Continuity.Extractor; x.Enabled {
		d.say(check, healthy, "An extractor reads the sessions: "+x.Route.String()+".", "")
	}
}

func (a *app) examineDatabase(ctx context.Context, d *doctor) {
	const check = "database"
	path, err := a.dataFile()
	if err != nil {
		d.fault(check, err)
		return
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.say(check, noted, path+" is not there yet.", "holdfast serve makes it")
		return
	}
	err = a.withReader(func(r *sqlite.Reader) error {
		report, err := r.Check(ctx, store.CheckOptions{Now: a.now(), Event: kindOfLine, Capsule: digestsOfCapsule})
		if err != nil {
			return err
		}
		if n := len(report.Findings) + report.Omitted; n > 0 {
			d.say(check, ailing, fmt.Sprintf("%s: %s.", path, count(n, "finding", "findings")), "holdfast store check")
			return nil
		}
		d.say(check, healthy, fmt.Sprintf("%s is sound, %s.", path, sizeText(report.Bytes)), "")
		return nil
	})
	if err != nil {
		d.fault(check, err)
	}
}

// serverPatience is how long a server may take to answer the doctor.
const serverPatience = 3 * time.Second

func examineServer(ctx context.Context, d *doctor, base, key string) {
	const check = "server"
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	get := func(path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		return http.DefaultClient.Do(req)
	}
	resp, err := get("/healthz")
	if err != nil {
		d.say(check, noted, "None answers at "+base+".", "holdfast serve, or name it with --url")
		return
	}
	_ = resp.Body.Close() // it is only asked for its status
	if resp.StatusCode != http.StatusOK {
		d.say(check, ailing, fmt.Sprintf("%s answers with %d: it is no Holdfast.", base, resp.StatusCode), "name it with --url")
		return
	}
	resp, err = get("/metrics")
	if err != nil {
		d.fault(check, err)
		return
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		d.say(check, noted, base+" answers, and asks for a key to tell more.", "--key-file FILE with a key of holdfast key create")
		return
	default:
		d.say(check, ailing, fmt.Sprintf("%s answers, and tells nothing of its traffic (status %d).", base, resp.StatusCode), "")
		return
	}
	counted, err := readCounts(resp.Body)
	if err != nil {
		d.say(check, ailing, base+" answers, and what it counts cannot be read: "+err.Error()+".", "")
		return
	}
	d.say(check, healthy, base+" answers.", "")
	d.traffic(counted)
}

func (a *app) printDoctor(found []ailment) error {
	failed := 0
	for _, f := range found {
		if f.Status == ailing {
			failed++
		}
	}
	var err error
	if a.json {
		err = a.printJSON(found)
	} else {
		var b strings.Builder
		for _, f := range found {
			text := f.Check + ": " + line(f.What)
			if f.Next != "" {
				text += " Next: " + line(f.Next) + "."
			}
			mark := fmt.Sprintf("%-6s  ", f.Status)
			if f.Status != healthy {
				mark = a.strong(f.Status) + mark[len(f.Status):]
			}
			b.WriteString(wrap(mark, "        ", text, a.width))
		}
		err = a.print(b.String())
	}
	if err == nil && failed > 0 {
		err = holdfast.Errorf(holdfast.ErrFailed, "%s", count(failed, "check", "checks")+" failed")
	}
	return err
}
