package redact

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// Alphabets of secrets.
const (
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hexes   = "0123456789abcdef"
	alnum   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	urls    = alnum + "-_"
	base64s = alnum + "+/"
)

// maker makes up secrets, the same ones for the same seed. No secret is written
// out in these tests, so that no scanner takes one for real.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 2))} }

// run is n letters of an alphabet.
func (m maker) run(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(b)
}

// mixed is n letters and digits in which neither is missing.
func (m maker) mixed(n int) string { return "q7Z" + m.run(n-6, alnum) + "4k2" }

// jwt is a token of three parts.
func (m maker) jwt() string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+m.run(20, alnum)+`"}`)) + "." + m.run(43, urls)
}

// pem is a private key of the given sort ("RSA ", "") in lines.
func (m maker) pem(sort string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + sort + "PRIVATE KEY-----\n")
	for range lines {
		b.WriteString(m.run(64, base64s) + "\n")
	}
	b.WriteString(m.run(22, base64s) + "==\n-----END " + sort + "PRIVATE KEY-----")
	return b.String()
}

// bot is the secret of a Discord bot with an id of 18 digits.
func (m maker) bot(first string) string {
	id := first + m.run(17, "0123456789")
	return base64.RawURLEncoding.EncodeToString([]byte(id)) + "." + m.run(6, urls) + "." + m.run(38, alnum)
}

// samples has one secret for each literal of the rules, by kind and literal:
// what is before it in the text, the secret, what is behind.
func samples(m maker) map[string][3]string {
	bare := func(s string) [3]string { return [3]string{"", s, ""} }
	all := map[string][3]string{
		"aws-secret secret":                  {"aws_secret_access_key = ", m.mixed(40), ""},
		"github-token github_pat_":           bare("github_pat_" + m.run(22, alnum) + "_" + m.run(59, alnum)),
		"slack-token xoxe-":                  bare("xoxe-1-" + m.run(147, alnum)),
		"slack-token xoxe.":                  bare("xoxe.xoxp-1-" + m.run(160, alnum)),
		"slack-token xapp-":                  bare("xapp-1-A" + m.run(10, upper) + "-" + m.run(13, "0123456789") + "-" + m.run(64, hexes)),
		"slack-webhook hooks.slack.com/":     {"https://hooks.slack.com/services/", "T" + m.run(8, upper) + "/B" + m.run(10, upper) + "/" + m.run(24, alnum), ""},
		"stripe-key whsec_":                  bare("whsec_" + m.run(32, alnum)),
		"anthropic-key sk-ant-":              bare("sk-ant-api03-" + m.run(93, urls) + "AA"),
		"openai-key sk-":                     bare("sk-" + m.run(48, alnum)),
		"google-api-key AIza":                bare("AIza" + "Sy" + m.run(33, alnum)),
		"google-oauth GOCSPX-":               bare("GOCSPX-" + m.run(28, urls)),
		"google-oauth ya29.":                 bare("ya29." + m.run(160, urls)),
		"gcp-private-key -----BEGIN ":        {`{"type": "service_account", "private_key": "`, strings.ReplaceAll(m.pem("", 20), "\n", `\n`), `\n", "client_id": "1"}`},
		"private-key -----BEGIN ":            bare(m.pem("RSA ", 5)),
		"private-key -----END ":              bare(m.pem("EC ", 2)[len("-----BEGIN EC PRIVATE KEY-----\n"):]),
		"azure-storage-key AccountKey=":      {"AccountName=a;AccountKey=", m.run(86, base64s) + "==", ";EndpointSuffix=core.windows.net"},
		"azure-storage-key SharedAccessKey=": {"Endpoint=sb://a.servicebus.windows.net/;SharedAccessKey=", m.run(43, base64s) + "=", ""},
		"jwt eyJ":                            bare(m.jwt()),
		"url-credentials ://":                {"postgres://svc:", m.run(16, alnum), "@db.invalid/x"},
		"authorization authorization":        {"Authorization: Bearer ", m.mixed(32), ""},
		"authorization bearer ":              {"send Bearer ", m.mixed(32), " along"},
		"npm-token npm_":                     bare("npm_" + m.run(36, alnum)),
		"pypi-token pypi-AgE":                bare("pypi-AgEIcHlwaS5vcmc" + m.run(150, urls)),
		"sendgrid-key SG.":                   bare("SG." + m.run(22, urls) + "." + m.run(42, urls) + "x"),
		"twilio-key SK":                      bare("SK" + m.run(32, hexes)),
		"telegram-token :A":                  {m.run(10, "123456789") + ":", "AA" + m.run(32, urls) + "w", ""},
		"huggingface-token hf_":              bare("hf_" + m.run(34, alnum)),
		"huggingface-token api_org_":         bare("api_org_" + m.run(34, alnum)),
		"discord-token /api/webhooks/":       {"https://discord.com/api/webhooks/" + m.run(18, "123456789") + "/", m.run(68, urls), ""},
		"secret credential":                  {"credential: ", `7f3A` + m.mixed(20), ""},
	}
	for _, p := range []string{"AKIA", "ASIA", "ABIA", "ACCA"} {
		all["aws-access-key "+p] = bare(p + m.run(16, upper))
	}
	for _, p := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		all["github-token "+p] = bare(p + m.run(36, alnum))
	}
	for _, p := range []string{"glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "gloas-", "glffct-"} {
		all["gitlab-token "+p] = bare(p + m.run(20, urls))
	}
	for _, p := range []string{"xoxa-", "xoxb-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"} {
		all["slack-token "+p] = bare(p + m.run(12, "123456789") + "-" + m.run(12, "123456789") + "-" + m.run(24, alnum))
	}
	for _, p := range []string{"sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"} {
		all["stripe-key "+p] = bare(p + m.run(99, alnum))
	}
	for _, p := range []string{"sk-proj-", "sk-svcacct-", "sk-admin-"} {
		all["openai-key "+p] = bare(p + m.run(156, urls))
	}
	for _, p := range []string{"dckr_pat_", "dckr_oat_"} {
		all["docker-pat "+p] = bare(p + m.run(27, urls))
	}
	for _, p := range []string{"dop_v1_", "doo_v1_", "dor_v1_"} {
		all["digitalocean-token "+p] = bare(p + m.run(64, hexes))
	}
	// In base64 an id starts with these, by its first digit, and the next.
	for p, digit := range map[string]string{"MT": "1", "Mj": "2", "Mz": "3", "ND": "4", "NT": "5", "Nj": "6", "Nz": "7", "OD": "8", "OT": "9"} {
		all["discord-token "+p] = bare(m.bot(digit))
	}
	for _, n := range []string{"password", "passwd", "passphrase", "pwd"} {
		all["password "+n] = [3]string{n + `: "`, "Tr0ub4dor&" + m.run(3, hexes), `"`}
	}
	for _, n := range []string{"secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey"} {
		all["secret "+n] = [3]string{"MY_" + n + "=", m.mixed(32), ""}
	}
	return all
}
