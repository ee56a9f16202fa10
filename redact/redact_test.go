package redact

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func newRedactor(t testing.TB, extra ...Pattern) *Redactor {
	t.Helper()
	r, err := New(extra)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// check redacts text and compares the whole result. The findings must be what
// was replaced, and redacting again must change nothing.
func check(t *testing.T, r *Redactor, text, want string) {
	t.Helper()
	out, found := r.Text(text)
	if out != want {
		t.Errorf("redacted\n%q\nto\n%q\nwant\n%q", text, out, want)
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		if f.Start < at || f.End <= f.Start {
			t.Fatalf("the findings %v are not in order or overlap", found)
		}
		b.WriteString(text[at:f.Start] + "[redacted:" + f.Kind + "]")
		at = f.End
	}
	if b.WriteString(text[at:]); b.String() != out {
		t.Errorf("the findings %v give\n%q\nwant\n%q", found, b.String(), out)
	}
	if again, more := r.Text(out); again != out || more != nil {
		t.Errorf("redacted again, %q became %q", out, again)
	}
}

func TestEveryLiteralOfEveryRuleLeadsToItsSecret(t *testing.T) {
	r := newRedactor(t)
	for seed := range uint64(20) {
		all := samples(newMaker(seed))
		for _, rule := range r.rules {
			for _, l := range rule.literals {
				key := rule.kind + " " + l
				s, ok := all[key]
				if !ok {
					t.Fatalf("there is no sample of %s", key)
				}
				check(t, r, s[0]+s[1]+s[2], s[0]+"[redacted:"+rule.kind+"]"+s[2])
			}
		}
	}
}

func TestASecretIsFoundWhereverItStands(t *testing.T) {
	r := newRedactor(t)
	places := map[string][2]string{
		"alone":                         {"", ""},
		"in a sentence":                 {"Use ", ", then go on."},
		"at the end of a sentence":      {"The key is ", "."},
		"between lines":                 {"first\n", "\nlast"},
		"in JSON":                       {`{"a":"`, `","b":1}`},
		"in JSON inside of JSON":        {`{"args":"{\"a\":\"`, `\"}"}`},
		"behind an escaped line end":    {`"line\n`, `\nline"`},
		"behind an escaped letter":      {`"a \u003c`, `\u003e"`},
		"behind an escape of a URL":     {"x?a%3D", "&b=1"},
		"in YAML":                       {"a:\n  - b: ", "\n  - c"},
		"in a shell command":            {"export A='", "' && run"},
		"in code":                       {"call(\"", "\")"},
		"in Markdown":                   {"`", "`"},
		"behind a word in any alphabet": {"é", "é"},
	}
	m := newMaker(7)
	for _, key := range []string{
		"aws-access-key AKIA", "github-token ghp_", "anthropic-key sk-ant-", "openai-key sk-", "jwt eyJ", "twilio-key SK",
		"huggingface-token hf_", "discord-token MT",
	} {
		s := samples(m)[key]
		kind, _, _ := strings.Cut(key, " ")
		for name, p := range places {
			t.Run(kind+" "+name, func(t *testing.T) {
				check(t, r, p[0]+s[1]+p[1], p[0]+"[redacted:"+kind+"]"+p[1])
			})
		}
	}
}

func TestWhatLeadsToASecretStays(t *testing.T) {
	r := newRedactor(t)
	m := newMaker(3)
	v, short := m.mixed(32), "Tr0ub4dor&3"
	for _, c := range []struct{ name, text, want string }{
		{"a Basic header keeps its scheme", "authorization: basic " + "dXNlcjp" + "wYXNzd29yZA==", "authorization: basic [redacted:authorization]"},
		{"a header without a scheme", "Authorization: " + v, "Authorization: [redacted:authorization]"},
		{"a header in JSON", `{"Authorization": "Bearer ` + v + `"}`, `{"Authorization": "Bearer [redacted:authorization]"}`},
		{"a header in a command", `curl -H "Authorization: Bearer ` + v + `" https://a.invalid`, `curl -H "Authorization: Bearer [redacted:authorization]" https://a.invalid`},
		{"a header in code", `req.Header.Set("Authorization", "Bearer ` + v + `")`, `req.Header.Set("Authorization", "Bearer [redacted:authorization]")`},
		{"a header of long letters", "Authorization: Bearer " + strings.Repeat("q", 40), "Authorization: Bearer [redacted:authorization]"},
		{"a password as people say it", "My password is " + short + ", do not log it", "My password is [redacted:password], do not log it"},
		{"a token as people say it", "the api_key is " + v, "the api_key is [redacted:secret]"},
		{"the header of a key", "X-Api-Key: " + v, "X-Api-Key: [redacted:secret]"},
		{"user and host of a URL", "redis://default:" + v + "@h.invalid:6379/0", "redis://default:[redacted:url-credentials]@h.invalid:6379/0"},
		{"a URL without a user", "redis://:" + v + "@h.invalid", "redis://:[redacted:url-credentials]@h.invalid"},
		{"an at sign in a password of a URL", "mysql://u:p@" + v + "@h.invalid", "mysql://u:[redacted:url-credentials]@h.invalid"},
		{"a weak password in a URL", "amqp://guest:guest1@h.invalid", "amqp://guest:[redacted:url-credentials]@h.invalid"},
		{"a quoted password", `password = "` + short + `"`, `password = "[redacted:password]"`},
		{"a bare password", "DB_PASSWORD=" + short, "DB_PASSWORD=[redacted:password]"},
		{"a password in XML", "<password>" + short + "</password>", "<password>[redacted:password]</password>"},
		{"a password in JSON inside of JSON", `{"a":"{\"password\":\"` + short + `\"}"}`, `{"a":"{\"password\":\"[redacted:password]\"}"}`},
		{"a secret with a declared type", `let token: &str = "` + v + `";`, `let token: &str = "[redacted:secret]";`},
		{"a secret of a short declaration", "apiKey := `" + v + "`", "apiKey := `[redacted:secret]`"},
		{"a secret in a map", `"client_secret" => '` + v + `',`, `"client_secret" => '[redacted:secret]',`},
		{"a secret in an index", `env["API_TOKEN"] = "` + v + `"`, `env["API_TOKEN"] = "[redacted:secret]"`},
		{"a secret whose end was cut", `token: "` + v, `token: "[redacted:secret]`},
		{"a secret in a query", "https://a.invalid/x?token=" + v + "&b=1", "https://a.invalid/x?token=[redacted:secret]&b=1"},
		{"a hash that is called a secret", "client_secret: " + m.run(40, hexes), "client_secret: [redacted:secret]"},
		{"the secret access key of AWS", "AWS_SECRET_ACCESS_KEY=" + m.mixed(40), "AWS_SECRET_ACCESS_KEY=[redacted:aws-secret]"},
		{"a plain key of one letter", "sk-" + strings.Repeat("q", 40), "[redacted:openai-key]"},
		{"an access key of one letter", "AKIA" + strings.Repeat("Z", 16), "[redacted:aws-access-key]"},
		{"a key of a router, with a version", "sk-or-v1-" + m.run(64, hexes), "[redacted:openai-key]"},
		{"a token of three parts behind its prefix", "ghs_" + m.run(40, alnum) + "." + m.run(50, urls) + "." + m.run(43, alnum) + ".", "[redacted:github-token]."},
		{"a token longer than the window", "ya29." + m.run(3000, urls) + " end", "[redacted:google-oauth] end"},
		{"a JWT longer than the window", m.jwt() + m.run(20000, urls) + " end", "[redacted:jwt] end"},
		{"a JWT that is called a token", `token: "` + m.jwt() + `"`, `token: "[redacted:jwt]"`},
		{"two secrets in one line", "npm_" + m.run(36, alnum) + ",npm_" + m.run(36, alnum), "[redacted:npm-token],[redacted:npm-token]"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, r, c.text, c.want) })
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	r := newRedactor(t)
	m := newMaker(4)
	for name, text := range map[string]string{
		"what prose says of a secret":      "the password is required8, a token is expired-2024-01-01, the secret is in vault/path2 and the pwd is /srv/app2",
		"a git hash":                       "commit " + m.run(40, hexes) + " and " + m.run(7, hexes),
		"a UUID":                           "session 11111111-1111-4111-8111-111111111111, id: " + m.run(8, hexes) + "-" + m.run(4, hexes) + "-4111-8111-" + m.run(12, hexes),
		"a digest":                         "sha256:" + m.run(64, hexes),
		"a signature of a thinking block":  `{"type":"thinking","thinking":"t","signature":"` + m.run(600, base64s) + `=="}`,
		"an image":                         "data:image/png;base64,iVBORw0KGgo" + m.run(4000, base64s) + "=",
		"a key with dots":                  "sk-... or sk-ant-... or ghp_...",
		"a key of crosses":                 "sk-ant-api03-" + strings.Repeat("x", 40) + " AKIA" + strings.Repeat("X", 16) + " ghp_" + strings.Repeat("x", 36),
		"a key to fill in":                 `api_key = "<your-key>" token: "your-token-1234-goes-here" secret=xxx`,
		"a key of the vendor's manual":     "AKIA" + "IOSFODNN7" + "EXAMPLE",
		"a variable":                       `password: ${DB_PASSWORD1} token=$API_TOKEN2 secret="{{ secrets.a1b2c3d4e5f6 }}" key`,
		"a reference":                      `api_key = "env:HOLDFAST_KEY_2" token: process.env.TOKEN_1A2B3C`,
		"the name of a constant":           `token: "GITHUB_TOKEN_2024" password=DB_PASSWORD_1`,
		"a call":                           "token = getToken() password := readPassword1(a1b2) secret: lookup2b3c4d(x)",
		"a field":                          "token = config.auth.token2 password: user.password1, secret=p.secret[3]",
		"a comparison":                     "if token == nil || password != previousPassword2 { }",
		"a number":                         "max_tokens: 4096000000000000 input_tokens=123456789012",
		"what a name says of a secret":     `token_type: "a1b2c3d4e5f6g7" SECRET_NAME=k8s1db2app3x4 tokenUrl = "q1w2e3r4t5y6u7"`,
		"an encoding of tokens":            `tokenizer: "cl100k_base_v2_x9y8z7"`,
		"an address":                       `token: "https://a.invalid/o4/a1b2c3d4" secret: "/run/secrets/db1"`,
		"prose":                            "The password: minimum of 8 characters. A bearer authentication scheme, Authorization: Bearer authentication.",
		"a URL without a password":         "https://a.invalid:8080/@scope ssh://git@a.invalid/x git@github.com:a/b.git",
		"a URL with a placeholder":         "postgres://user:password@h postgres://user:${PW}@h postgres://u:<pw>@h postgres://u:***@h mysql://root:%s@h",
		"words with hyphens behind sk":     "sk-fading-circle-container-element sk-SK task-1234567890123456789012345",
		"a word that ends like a prefix":   "max_hf_" + m.run(34, alnum) + " XAKIA" + m.run(16, upper),
		"a name that starts like a prefix": "hf_hub_download npm_config_registry dop_v1_ SG.foo.bar",
		"a public key":                     "-----BEGIN PUBLIC KEY-----\n" + m.run(64, base64s) + "\n-----END PUBLIC KEY-----",
		"a mention of a private key":       "It starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY----- as ever.",
		"a header of nothing":              `req.Header.Set("Authorization", "Bearer "+token) Authorization: Basic realm`,
		"a mark":                           `[redacted:github-token]: "` + m.mixed(20) + `"`,
		"the time behind a letter":         "at 12:AA" + m.run(33, urls),
	} {
		t.Run(name, func(t *testing.T) { check(t, r, text, text) })
	}
}

func TestPrivateKeysGoWhole(t *testing.T) {
	r := newRedactor(t)
	m := newMaker(5)
	key := m.pem("RSA ", 6)
	lines := strings.Split(key, "\n")
	numbered := ""
	for i, l := range lines {
		numbered += fmt.Sprintf("%6d→%s\n", i+10, l)
	}
	const mark = "[redacted:private-key]"
	for _, c := range []struct{ name, text, want string }{
		{"in a file", "a\n" + key + "\nb", "a\n" + mark + "\nb"},
		{"in JSON", `{"k":"` + strings.ReplaceAll(key, "\n", `\n`) + `\n"}`, `{"k":"` + mark + `\n"}`},
		{"with line ends of Windows", strings.ReplaceAll(key, "\n", "\r\n"), mark},
		{"in one line", strings.ReplaceAll(key, "\n", " "), mark},
		{"with numbered lines", numbered, "    10→" + mark + "\n"},
		{"of PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + lines[1] + "\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----", mark},
		{"encrypted, with headers", lines[0] + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AA\n\n" + strings.Join(lines[1:], "\n"), mark},
		{"cut behind a line", strings.Join(lines[:4], "\n") + "\n", mark + "\n"},
		{"cut within a line", strings.Join(lines[:4], "\n") + "\n" + lines[4][:9], mark},
		{"cut, with headers", lines[0] + "\nProc-Type: 4,ENCRYPTED\n\n" + lines[1] + "\n[truncated]", mark + "\n[truncated]"},
		{"cut, with a stub", strings.Join(lines[:4], "\n") + "\n" + lines[4][:9] + "[truncated]", mark + "[truncated]"},
		{"cut, in JSON", `{"k":"` + strings.Join(lines[:4], `\n`) + `\n` + lines[4][:9] + `"}`, `{"k":"` + mark + `"}`},
		{"cut, with text behind", strings.Join(lines[:4], "\n") + "\nThen we went on.", mark + "\nThen we went on."},
		{"cut, quoted and concatenated", "\"" + strings.Join(lines[:4], "\\n\" +\n\"") + "\"", "\"" + mark + "\""},
		{"without its start", "see\n" + strings.Join(lines[4:], "\n") + "\nb", "see\n" + mark + "\nb"},
		{"without its start, in JSON", `{"k":"` + strings.Join(lines[4:], `\n`) + `"}`, `{"k":"` + mark + `"}`},
		{"without its start, numbered", numbered[strings.Index(numbered, "    13"):], "    13→" + mark + "\n"},
		{"twice", key + "\n" + key, mark + "\n" + mark},
		{"around a mark", strings.Join(lines[:3], "\n") + "\n[redacted:x]\n" + strings.Join(lines[3:], "\n"), mark + "[redacted:x]" + mark},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, r, c.text, c.want) })
	}
}

func TestPatternsOfTheUser(t *testing.T) {
	r := newRedactor(t,
		Pattern{Kind: "ticket", Regexp: `TICKET-(\d{4})`},
		Pattern{Kind: "host", Literal: ".corp.", Regexp: `[a-z]+\.corp\.[a-z]+`},
		Pattern{Kind: "never", Literal: "absent", Regexp: `[a-z]+`},
		Pattern{Kind: "wide", Regexp: `<.*>`})
	jwt := newMaker(6).jwt()
	for _, c := range []struct{ name, text, want string }{
		{"the first group is the secret", "see TICKET-1234.", "see TICKET-[redacted:ticket]."},
		{"without a group the whole match is", "at db.corp.invalid.", "at [redacted:host]."},
		{"every match counts", "TICKET-1111 TICKET-2222", "TICKET-[redacted:ticket] TICKET-[redacted:ticket]"},
		{"of two that overlap there is one mark, of the first", "<" + jwt + ">", "[redacted:wide]"},
		{"a mark stays within a match", "<a[redacted:x]b>", "[redacted:wide][redacted:x][redacted:wide]"},
		{"what is no mark is text", "<[redacted:X y]>", "[redacted:wide]"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, r, c.text, c.want) })
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Pattern
		want string
	}{
		{"a kind with capitals", Pattern{Kind: "My Kind", Regexp: "a"}, `redaction pattern 2 has the kind "My Kind": use 1 to 40 lower case letters, digits and hyphens`},
		{"no kind", Pattern{Regexp: "a"}, `redaction pattern 2 has the kind "": use 1 to 40 lower case letters, digits and hyphens`},
		{"a broken expression", Pattern{Kind: "k", Regexp: "(a"}, "redaction pattern 2 (k) is no regular expression in RE2 syntax: error parsing regexp: missing closing ): `(a`"},
		{"an expression that needs backtracking", Pattern{Kind: "k", Regexp: `(a)\1`}, "redaction pattern 2 (k) is no regular expression in RE2 syntax: error parsing regexp: invalid escape sequence: `\\1`"},
		{"an expression that matches nothing at all", Pattern{Kind: "k", Regexp: "a*"}, "redaction pattern 2 (k) matches the empty text: make a part of it required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New([]Pattern{{Kind: "good", Regexp: "b"}, c.p})
			if err == nil || err.Error() != c.want {
				t.Errorf("got the error %v, want %s", err, c.want)
			}
		})
	}
}

func TestCleanTextCostsNoMemory(t *testing.T) {
	r := newRedactor(t)
	text := strings.Repeat("A parser reads each token, and the disk holds a password field, x-axis.\n", 100)
	if n := testing.AllocsPerRun(100, func() { r.Text(text) }); n != 0 {
		t.Errorf("%v allocations per text, want 0", n)
	}
}

func TestOneRedactorServesManyGoroutines(t *testing.T) {
	r := newRedactor(t)
	var text, want strings.Builder
	all := samples(newMaker(8))
	keys := slices.Sorted(func(yield func(string) bool) {
		for k := range all {
			if !yield(k) {
				return
			}
		}
	})
	for _, key := range keys {
		kind, _, _ := strings.Cut(key, " ")
		s := all[key]
		text.WriteString(s[0] + s[1] + s[2] + "\n")
		want.WriteString(s[0] + "[redacted:" + kind + "]" + s[2] + "\n")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if out, _ := r.Text(text.String()); out != want.String() {
					t.Errorf("got\n%s\nwant\n%s", out, want.String())
					return
				}
			}
		})
	}
	wg.Wait()
}

// Text in which every few bytes start a match that fails late. Were the cost not
// linear, each would take minutes.
func TestTheWorstTextsStayCheap(t *testing.T) {
	r := newRedactor(t)
	for name, piece := range map[string]string{
		"keys that never end":       "-----BEGIN PRIVATE KEY-----\n",
		"keys in JSON":              `-----BEGIN PRIVATE KEY-----\n`,
		"ends without a key":        "-----END PRIVATE KEY-----\n",
		"a key of one line":         "ABCDEFGH",
		"JWTs of one part":          "eyJ-",
		"JWTs of empty parts":       "eyJ.",
		"URLs in URLs":              "a://b:c",
		"assignments of each other": "token=",
		"names of names":            "password",
		"headers of headers":        "authorization:",
		"marks that never close":    "[redacted:",
		"prefixes":                  "sk-",
		"prefixes in a token":       "glpat-",
		"ids of bots":               "1:AA",
	} {
		t.Run(name, func(t *testing.T) {
			text := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(piece, (1<<19)/len(piece)) + "\n-----END PRIVATE KEY-----"
			start := time.Now()
			r.Text(text)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("half a megabyte took %v", took)
			}
		})
	}
}

func FuzzTextRedactedTwiceIsTheSame(f *testing.F) {
	for _, s := range samples(newMaker(9)) {
		f.Add(s[0] + s[1] + s[2])
	}
	r := newRedactor(f)
	f.Fuzz(func(t *testing.T, text string) {
		out, found := r.Text(text)
		at := 0
		for _, x := range found {
			if x.Start < at || x.End <= x.Start || x.End > len(text) {
				t.Fatalf("the findings %v of %q are out of order", found, text)
			}
			at = x.End
		}
		if again, _ := r.Text(out); again != out {
			t.Fatalf("%q became\n%q, and that\n%q", text, out, again)
		}
	})
}

// The sources of a package that is full of the word token are clean text, and
// the worst kind of it.
func BenchmarkCleanText(b *testing.B) {
	var text strings.Builder
	for _, dir := range []string{"go/parser", "net/http", "strings"} {
		files, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", dir, "*.go")) //nolint:staticcheck // tests run where Go is
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			text.Write(data)
		}
	}
	r := newRedactor(b)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, found := r.Text(text.String()); found != nil {
			b.Fatalf("found %v", found)
		}
	}
}
