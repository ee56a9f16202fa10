package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

func (a *app) storeCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "store",
		Short: "Check and back up the database",
		Long: "Sessions, conversations and keys are in one file, which holdfast conversation path names.\n" +
			"Both commands only read it, and work while a server runs.",
		Example: "  holdfast store check\n  holdfast store backup ~/holdfast-backup.db",
	})
	c.AddCommand(a.storeCheck(), a.storeBackup())
	return c
}

// withReader runs do with the database of the data directory, which is only looked
// at.
func (a *app) withReader(do func(*sqlite.Reader) error) (err error) {
	path, err := a.dataFile()
	if err != nil {
		return err
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := r.Close(); err == nil {
			err = closed
		}
	}()
	return do(r)
}

func (a *app) storeCheck() *cobra.Command {
	var full bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Look whether the database is sound",
		Long: "Looks at the file, its modes, all pages and all rows, and changes nothing. Exit status 1\n" +
			"says that something was found; what is said holds no text of sessions.",
		Example: "  holdfast store check\n  holdfast store check --full --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReader(func(r *sqlite.Reader) error {
				show, began := progressLine(a.err), time.Now()
				report, err := r.Check(cmd.Context(), store.CheckOptions{
					Full: full, Now: a.now(), Event: kindOfLine, Capsule: digestsOfCapsule,
					Progress: func(step string, done, total int64) {
						// One whose end is not known may take all of the time.
						if total == 0 || time.Since(began) > progressAfter && done%progressEvery == 0 {
							show(stepText("checking "+step, done, total))
						}
					},
				})
				show("")
				if err != nil {
					return err
				}
				return a.reported(report, full)
			})
		},
	}
	c.Flags().BoolVar(&full, "full", false, "also compare every index with its table, which takes several times as long")
	return c
}

// progressEvery is how many rows pass between two looks at a terminal.
const progressEvery = 64

func stepText(step string, done, total int64) string {
	if total == 0 {
		return step
	}
	return fmt.Sprintf("%s: %d of %d", step, done, total)
}

// kindOfLine reads a stored event.
func kindOfLine(line []byte) (string, error) {
	e, err := conversation.ParseLine(line)
	if err != nil {
		return "", err
	}
	return conversation.KindOf(e.Event), nil
}

// digestsOfCapsule reads a stored capsule.
func digestsOfCapsule(data []byte) (stated, actual string, err error) {
	var c holdfast.Capsule
	if err := json.Unmarshal(data, &c); err != nil {
		return "", "", err
	}
	if c.SchemaVersion > holdfast.SchemaVersion {
		return c.Digest, "", nil
	}
	return c.Digest, continuity.Seal(c).Digest, nil
}

// checkJSON is a report in JSON output.
type checkJSON struct {
	Path          string           `json:"path"`
	Bytes         int64            `json:"bytes"`
	Schema        int64            `json:"schema"`
	Mode          string           `json:"mode"`
	DirectoryMode string           `json:"directory_mode"`
	Full          bool             `json:"full"`
	Partial       bool             `json:"partial"` // the rows were not looked at
	Rows          map[string]int64 `json:"rows"`
	Findings      []findingJSON    `json:"findings"`
	Omitted       int              `json:"omitted"`
}

type findingJSON struct {
	Kind  store.FindingKind `json:"kind"`
	Table string            `json:"table,omitempty"`
	ID    string            `json:"id,omitempty"`
	What  string            `json:"what"`
	Next  string            `json:"next"`
}

// reported writes a report, and fails where it has findings.
func (a *app) reported(r store.Report, full bool) error {
	var err error
	if a.json {
		err = a.printJSON(newCheckJSON(r, full))
	} else {
		err = a.print(a.checkText(r, full))
	}
	if err != nil {
		return err
	}
	if n := len(r.Findings) + r.Omitted; n > 0 {
		return holdfast.Errorf(holdfast.ErrFailed, "%s in the database %s", count(n, "finding", "findings"), r.Path)
	}
	return nil
}

func newCheckJSON(r store.Report, full bool) checkJSON {
	out := checkJSON{
		Path: r.Path, Bytes: r.Bytes, Schema: r.Schema, Mode: fmt.Sprintf("%04o", r.Mode), DirectoryMode: fmt.Sprintf("%04o", r.DirectoryMode),
		Full: full, Partial: r.Partial, Rows: map[string]int64{}, Findings: []findingJSON{}, Omitted: r.Omitted,
	}
	for _, t := range r.Tables {
		out.Rows[t.Table] = t.Rows
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, findingJSON(f))
	}
	return out
}

func (a *app) checkText(r store.Report, full bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "database  %s\n", line(r.Path))
	fmt.Fprintf(&b, "size      %s\n", sizeText(r.Bytes))
	schema := fmt.Sprint(r.Schema)
	if r.Partial && r.Schema == 0 {
		schema = "cannot be read"
	}
	fmt.Fprintf(&b, "schema    %s\n", schema)
	fmt.Fprintf(&b, "mode      %04o, directory %04o\n\n", r.Mode, r.DirectoryMode)
	if len(r.Tables) > 0 {
		rows := make([][]string, len(r.Tables))
		for i, t := range r.Tables {
			rows[i] = []string{line(t.Table), fmt.Sprint(t.Rows)}
		}
		b.WriteString(table([]column{{title: "TABLE", keep: 1}, {title: "ROWS", keep: 2}}, rows, a.width) + "\n")
	}
	for _, f := range r.Findings {
		where := strings.TrimSpace(f.Table + " " + f.ID)
		if where == "" {
			where = "file"
		}
		b.WriteString(wrap("", "  ", a.strong(line(where))+": "+line(f.What), a.width))
		b.WriteString(wrap("  ", "  ", line(f.Next), a.width))
	}
	switch {
	case r.Partial:
		b.WriteString("The rows were not looked at: what a damaged file says of them means nothing.\n")
	case r.Omitted > 0:
		fmt.Fprintf(&b, "And %d more of these.\n", r.Omitted)
	case len(r.Findings) > 0:
	case full:
		b.WriteString("Nothing was found.\n")
	default:
		b.WriteString("Nothing was found. --full also compares the indexes with their tables.\n")
	}
	return b.String()
}

// backupJSON is a backup in JSON output.
type backupJSON struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Schema   int64  `json:"schema"`
	Database string `json:"database"`
}

func (a *app) storeBackup() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database into one file",
		Long: "Copies the database as it is now into one file, while a server may go on writing, and\n" +
			"checks the copy. FILE is readable by you alone. It holds all that the database holds:\n" +
			"what was recorded and imported, and the digests of keys, so that these hold again where\n" +
			"it is restored, revoked since or not. What is erased later stays in it.\n\n" +
			"To restore it, end what uses the database, move it and its -wal and -shm files away, and\n" +
			"copy FILE into its place.",
		Example: "  holdfast store backup ~/holdfast-backup.db\n  holdfast store backup --force /mnt/backup/holdfast.db",
		Args:    arguments(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.dataFile()
			if err != nil {
				return err
			}
			return a.withReader(func(r *sqlite.Reader) error {
				show, began := progressLine(a.err), time.Now()
				done, err := r.Backup(cmd.Context(), args[0], sqlite.BackupOptions{
					Overwrite: force,
					Progress: func(done, total int64) {
						if time.Since(began) > progressAfter {
							show(stepText("copying pages", done, total))
						}
					},
				})
				show("")
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(backupJSON{done.Path, done.Bytes, done.Schema, path})
				}
				return a.print(fmt.Sprintf("Backed up %s to %s: %s, schema %d, checked.\n"+
					"To restore it, end what uses the database, move it and its -wal and -shm files away, and copy the backup into its place.\n",
					line(path), line(done.Path), sizeText(done.Bytes), done.Schema))
			})
		},
	}
	c.Flags().BoolVarP(&force, "force", "f", false, "overwrite FILE")
	return c
}
