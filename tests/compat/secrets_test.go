package compat

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lucasjones/reggen"
	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/holdfast-dev/holdfast/redact"
)

// seed makes the samples the same in every run.
const seed = 1

// rules are gitleaks' rules for each kind of ours. Their own expressions make
// the samples, so nothing of our table goes into them.
var rules = map[string][]string{
	"anthropic-key":  {"anthropic-api-key", "anthropic-admin-api-key"},
	"aws-access-key": {"aws-access-token"},
	"digitalocean-token": {
		"digitalocean-access-token", "digitalocean-pat", "digitalocean-refresh-token",
	},
	"github-token": {"github-pat", "github-fine-grained-pat", "github-app-token", "github-oauth", "github-refresh-token"},
	"gitlab-token": {
		"gitlab-cicd-job-token", "gitlab-deploy-token", "gitlab-feed-token", "gitlab-feature-flag-client-token",
		"gitlab-incoming-mail-token", "gitlab-kubernetes-agent-token", "gitlab-oauth-app-secret", "gitlab-pat",
		"gitlab-pat-routable", "gitlab-ptt", "gitlab-runner-authentication-token",
		"gitlab-runner-authentication-token-routable", "gitlab-scim-token", "gitlab-rrt", "gitlab-session-cookie",
	},
	"google-api-key":    {"gcp-api-key"},
	"huggingface-token": {"huggingface-access-token", "huggingface-organization-api-token"},
	"jwt":               {"jwt"},
	"npm-token":         {"npm-access-token"},
	"openai-key":        {"openai-api-key"},
	"pypi-token":        {"pypi-upload-token"},
	"sendgrid-key":      {"sendgrid-api-token"},
	"slack-token": {
		"slack-app-token", "slack-bot-token", "slack-config-access-token", "slack-config-refresh-token",
		"slack-legacy-bot-token", "slack-legacy-token", "slack-legacy-workspace-token", "slack-user-token",
	},
	"slack-webhook":  {"slack-webhook-url"},
	"stripe-key":     {"stripe-access-token"},
	"telegram-token": {"telegram-bot-api-token"},
	"twilio-key":     {"twilio-api-key"},
}

// without says for which kinds gitleaks makes no samples, and what takes their
// place below.
var without = map[string]string{
	"authorization":     "its expression takes any curl command: headers in commands",
	"aws-secret":        "it has its generic rule: assignments",
	"azure-storage-key": "it has no rule: connection strings, of which only ours is checked",
	"discord-token":     "its rule is for 64 hex digits behind the word discord, which a bot's token is not: assignments",
	"docker-pat":        "it has no rule: only ours is checked",
	"gcp-private-key":   "its rule for private keys: keys in JSON",
	"google-oauth":      "it has no rule: only ours is checked",
	"password":          "its generic rule: assignments",
	"private-key":       "its expression takes any bytes: real keys",
	"secret":            "its generic rule: assignments",
	"url-credentials":   "it has no rule: only ours is checked",
}

// allowed are the findings of gitleaks that are none of ours, with the reason.
func allowed(rule, secret string) string {
	switch rule {
	case "gitlab-rrt":
		return "a form that GitLab no longer makes, without a prefix of its family"
	case "gitlab-session-cookie":
		return "a cookie, not a token; its name has no word of ours"
	case "jwt":
		if head, _, _ := strings.Cut(secret, "."); !strings.HasPrefix(head, "eyJ") || strings.ContainsAny(secret, `/\`) {
			return "no header of a JWT starts so, and base64url has no slash"
		}
	case "generic-api-key", "curl-auth-header":
		if !strings.ContainsAny(secret, "0123456789") {
			return "a value without a digit may be the name of a variable"
		}
	case "aws-access-token":
		if strings.HasPrefix(secret, "A3T") {
			return "a prefix that AWS does not document"
		}
	}
	return ""
}

// narrow makes an expression of gitleaks one of what vendors make: prefixes in
// their own case, dots that are dots, parts of the documented length or a usual
// one, and no text behind the secret.
var narrow = strings.NewReplacer(
	"(?i)", "", "(?i:", "(?:",
	"xoxe.xox", `xoxe\.xox`, "hooks.slack.com", `hooks\.slack\.com`, "[A-Za-z0-9+/]{43,56}", "[A-Za-z0-9/]{43,56}",
	`[a-z0-9=_\-\.]{66}`, `[a-z0-9]{22}\.[a-z0-9]{43}`,
	`(?:[\x60'"\s;]|\\[nr]|$)`, "", `\d+`, `\d{12}`, `[a-fA-F\d]+`, `[a-f\d]{32}`, "]+", "]{24}",
)

// contexts are where a secret stands. Their names say nothing of it.
var contexts = map[string]string{
	"prose":  "We use %s\nfrom now on.\n",
	"json":   "{\"entry\": \"%s\", \"n\": 1}\n",
	"nested": "{\"args\":\"{\\\"entry\\\":\\\"%s\\\"}\"}\n",
	"shell":  "export ENTRY='%s'\n./run --entry \"$ENTRY\"\n",
	"yaml":   "entries:\n  - entry: %s\n",
	"code":   "const entry = \"%s\"\n",
}

func newScanner(t *testing.T) *detect.Detector {
	t.Helper()
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newRedactor(t *testing.T) *redact.Redactor {
	t.Helper()
	r, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compare scans text both ways. What gitleaks calls a secret must not stand in
// what is left, and what it found is counted by its rule.
func compare(t *testing.T, d *detect.Detector, r *redact.Redactor, text string, count map[string]int) {
	t.Helper()
	out, _ := r.Text(text)
	for _, f := range d.DetectString(text) {
		count[f.RuleID]++
		if allowed(f.RuleID, f.Secret) == "" && strings.Contains(out, f.Secret) {
			t.Errorf("gitleaks finds %s %q; after us there is\n%s", f.RuleID, f.Secret, out)
		}
	}
}

func TestWhatTheScannerFindsIsRedacted(t *testing.T) {
	const each = 12
	d, r := newScanner(t), newRedactor(t)
	for _, kind := range slices.Sorted(maps.Keys(rules)) {
		for _, id := range rules[kind] {
			rule, ok := d.Config.Rules[id]
			if !ok {
				t.Errorf("gitleaks has no rule %s any more", id)
				continue
			}
			t.Run(kind+" by "+id, func(t *testing.T) {
				samples, err := reggen.NewGenerator(narrow.Replace(rule.Regex.String()))
				if err != nil {
					t.Fatal(err)
				}
				samples.SetSeed(seed)
				count := map[string]int{}
				for range each {
					sample := samples.Generate(1)
					for _, context := range contexts {
						compare(t, d, r, fmt.Sprintf(context, sample), count)
					}
				}
				if count[id] == 0 {
					t.Error("gitleaks does not find its own samples: nothing was compared")
				}
				t.Logf("found by gitleaks in %d texts: %v", each*len(contexts), count)
			})
		}
	}
}

// maker makes up secrets, the same ones in every run.
type maker struct{ *rand.ChaCha8 }

func newMaker() maker { return maker{rand.NewChaCha8([32]byte{seed})} }

// bytes is n random bytes.
func (m maker) bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = m.Read(b) // never fails
	return b
}

// word is n random letters and digits.
func (m maker) word(n int) string {
	s := base64.StdEncoding.EncodeToString(m.bytes(2 * n))
	return strings.NewReplacer("+", "", "/", "", "=", "").Replace(s)[:n]
}

func TestWhatTheScannerFindsInAssignmentsIsRedacted(t *testing.T) {
	d, r, m := newScanner(t), newRedactor(t), newMaker()
	count := map[string]int{}
	for _, form := range []string{
		"%s = \"%s\"\n", "%s: %s\n", "export %s=%s\n", "{\"%s\": \"%s\"}\n", "%s := `%s`\n", "'%s' => '%s',\n", "curl 'https://a.invalid/?%s=%s&b=1'\n",
	} {
		for _, name := range []string{
			"api_key", "API_KEY", "apiKey", "client_secret", "clientSecret", "SECRET_KEY_BASE", "access_token", "authToken", "db_password",
			"PGPASSWORD", "aws_secret_access_key", "discord_token", "service.credential", "x-api-key", "passwd",
		} {
			for range 4 {
				compare(t, d, r, fmt.Sprintf(form, name, m.word(40)), count)
				compare(t, d, r, fmt.Sprintf(form, name, m.word(20)), count)
				compare(t, d, r, fmt.Sprintf(form, name, hex.EncodeToString(m.bytes(32))), count)
			}
		}
	}
	t.Logf("found by gitleaks: %v", count)
	if count["generic-api-key"] < 500 {
		t.Errorf("gitleaks finds %d, too few to tell", count["generic-api-key"])
	}
}

func TestWhatTheScannerFindsInCommandsIsRedacted(t *testing.T) {
	d, r, m := newScanner(t), newRedactor(t), newMaker()
	count := map[string]int{}
	for range 20 {
		for _, header := range []string{
			"Authorization: Bearer " + m.word(40), "Authorization: Token " + m.word(32), "Authorization: " + m.word(40), "X-Api-Key: " + m.word(32),
			"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("svc:"+m.word(20))),
		} {
			compare(t, d, r, "curl -s -H \""+header+"\" https://a.invalid/v1\n", count)
			compare(t, d, r, "curl https://a.invalid/v1 --header '"+header+"'\n", count)
		}
	}
	t.Logf("found by gitleaks: %v", count)
	if count["curl-auth-header"] < 150 {
		t.Errorf("gitleaks finds %d, too few to tell", count["curl-auth-header"])
	}
}

// keys are real private keys in the forms that libraries write.
func keys(t *testing.T) []string {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(crand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(name string, der []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(pem.EncodeToMemory(&pem.Block{Type: name, Bytes: der})))
	}
	add("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil)
	ec, err := x509.MarshalECPrivateKey(ecKey)
	add("EC PRIVATE KEY", ec, err)
	for _, key := range []any{rsaKey, ecKey, edKey} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		add("PRIVATE KEY", der, err)
	}
	return out
}

func TestPrivateKeysAreRedactedWhole(t *testing.T) {
	d, r := newScanner(t), newRedactor(t)
	count := map[string]int{}
	for _, key := range keys(t) {
		quoted, err := json.Marshal(map[string]string{"type": "service_account", "private_key": key})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{key, string(quoted), "a:\n  b: |\n    " + strings.ReplaceAll(key, "\n", "\n    ")} {
			compare(t, d, r, text, count)
			out, _ := r.Text(text)
			for line := range strings.Lines(key) {
				if line = strings.TrimSpace(line); strings.Contains(out, line) {
					t.Errorf("the line %q of a key is left in\n%s", line, out)
				}
			}
		}
	}
	t.Logf("found by gitleaks: %v", count)
	if count["private-key"] == 0 {
		t.Error("gitleaks finds no key")
	}
}

func TestSecretsThatTheScannerHasNoRuleForAreRedacted(t *testing.T) {
	r, m := newRedactor(t), newMaker()
	for kind, text := range map[string]string{
		"azure-storage-key": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + base64.StdEncoding.EncodeToString(m.bytes(64)) + ";",
		"docker-pat":        "docker login -p dckr_pat_" + m.word(27),
		"google-oauth":      "GOCSPX-" + m.word(28),
		"url-credentials":   "mongodb+srv://svc:" + m.word(12) + "@db.invalid/x",
		"discord-token":     base64.RawURLEncoding.EncodeToString([]byte("123456789012345678")) + "." + m.word(6) + "." + m.word(38),
	} {
		if _, found := r.Text(text); len(found) != 1 || found[0].Kind != kind {
			t.Errorf("in %q we find %v, want one %s", text, found, kind)
		}
	}
	for kind := range without {
		if rules[kind] != nil {
			t.Errorf("%s has rules and a reason why not", kind)
		}
	}
}

// Real text holds few secrets, so few may be found: what is found there is
// mostly the sources' own examples of credentials.
func TestCleanTextKeepsItsWords(t *testing.T) {
	list, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		roots []string
		take  func(base string) bool
		most  float64 // findings per megabyte
	}{
		{
			"sources of the standard library", []string{filepath.Join(runtime.GOROOT(), "src")}, //nolint:staticcheck // tests run where Go is
			func(base string) bool { return strings.HasSuffix(base, ".go") }, 1,
		},
		{
			"introductions of modules", strings.Fields(string(list)),
			func(base string) bool { return strings.HasSuffix(base, ".md") }, 5,
		},
	} {
		t.Run(c.name, func(t *testing.T) { clean(t, c.roots, c.take, c.most) })
	}
}

// clean redacts the files below roots and reports what was found.
func clean(t *testing.T, roots []string, take func(base string) bool, most float64) {
	r := newRedactor(t)
	kinds := map[string]int{}
	var bytes, total int
	var took time.Duration
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !take(e.Name()) {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text := string(data)
			start := time.Now()
			_, found := r.Text(text)
			took += time.Since(start)
			bytes += len(text)
			for _, f := range found {
				kinds[f.Kind]++
				total++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mb := float64(bytes) / 1e6
	t.Logf("%.1f MB at %.0f MB/s, %.2f findings per MB: %v", mb, mb/took.Seconds(), float64(total)/mb, kinds)
	if mb < 1 {
		t.Errorf("%.1f MB is too little to tell", mb)
	}
	if rate := float64(total) / mb; rate > most {
		t.Errorf("%.2f findings per MB, more than %g", rate, most)
	}
}
