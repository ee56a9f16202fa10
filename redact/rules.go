package redact

// rule is one sort of secret that everybody has.
type rule struct {
	kind string
	// literals stand at the start of every match. They are found as written,
	// or in any case of letters.
	literals []string
	anyCase  bool
	find     finder
}

// builtin is the table of secrets. Each row names where its format is
// documented. Of two that find the same secret, the first gives the kind.
func builtin() []rule {
	return []rule{
		// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
		{"aws-access-key", list("AKIA", "ASIA", "ABIA", "ACCA"), false, token(`A[A-Z]{3}[A-Z0-9]{16}\b`)},
		// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html
		{"aws-secret", list("secret"), true, after(
			`(?i:secret[_-]?(?:access)?[_-]?key)`+assigns+quote+`?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`, filled)},
		// https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
		{"github-token", list("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), false, token(`gh[a-z]_[A-Za-z0-9_]{36,}(?:\.[A-Za-z0-9_-]+)*`)},
		{"github-token", list("github_pat_"), false, token(`github_pat_[A-Za-z0-9_]{36,}`)},
		// https://docs.gitlab.com/security/tokens/#token-prefixes
		{
			"gitlab-token", list("glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "gloas-", "glffct-"), false,
			token(`gl[a-z]+-[A-Za-z0-9_-]{20,}(?:\.[a-z0-9]+)*`),
		},
		// https://docs.slack.dev/authentication/tokens
		{"slack-token", list("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"), false, token(`xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}`)},
		{"slack-token", list("xapp-"), false, token(`xapp-\d-[A-Za-z0-9-]{10,}`)},
		// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
		{"slack-webhook", list("hooks.slack.com/"), true, after(`(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,})`, filled)},
		// https://docs.stripe.com/keys
		{"stripe-key", list("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"), false, token(`[rs]k_[a-z]+_[A-Za-z0-9]{10,}`)},
		// https://docs.stripe.com/webhooks/signature
		{"stripe-key", list("whsec_"), false, token(`whsec_[A-Za-z0-9+/=]{24,}`)},
		// https://platform.claude.com/docs/en/api/overview#authentication
		{"anthropic-key", list("sk-ant-"), false, token(`sk-ant-[A-Za-z0-9_-]{20,}`)},
		// https://platform.openai.com/docs/api-reference/authentication
		{"openai-key", list("sk-proj-", "sk-svcacct-", "sk-admin-"), false, token(`sk-[a-z]+-[A-Za-z0-9_-]{20,}`)},
		// The plain form, which many compatible providers share. Hyphenated words
		// have no run of letters and digits that long.
		{"openai-key", list("sk-"), false, token(`sk-(?:[A-Za-z0-9]{1,15}[_-]){0,3}[A-Za-z0-9]{20,}[A-Za-z0-9_-]*`)},
		// https://docs.cloud.google.com/docs/authentication/api-keys
		{"google-api-key", list("AIza"), false, token(`AIza[A-Za-z0-9_-]{35,}`)},
		// https://developers.google.com/identity/protocols/oauth2
		{"google-oauth", list("GOCSPX-"), false, token(`GOCSPX-[A-Za-z0-9_-]{28,}`)},
		{"google-oauth", list("ya29."), false, token(`ya29\.[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*`)},
		// https://docs.cloud.google.com/iam/docs/keys-create-delete
		{"gcp-private-key", list("-----BEGIN "), false, accountKey},
		// https://www.rfc-editor.org/rfc/rfc7468 and https://www.rfc-editor.org/rfc/rfc9580#section-6.2
		{"private-key", list("-----BEGIN "), false, keyFromBegin},
		{"private-key", list("-----END "), false, keyToEnd},
		// https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
		// https://learn.microsoft.com/azure/service-bus-messaging/service-bus-sas
		{"azure-storage-key", list("AccountKey=", "SharedAccessKey="), true, after(`(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})`, filled)},
		// https://www.rfc-editor.org/rfc/rfc7519, and with five parts https://www.rfc-editor.org/rfc/rfc7516
		{"jwt", list("eyJ"), false, jwt(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){0,2}`)},
		// https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
		{"url-credentials", list("://"), false, after(`://[^\s/?#:@"'<>\\]*:([^\s/"'<>\\]+)@[A-Za-z0-9\[$\{<]`, password)},
		// https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2
		{"authorization", list("authorization"), true, after(
			`(?i:authorization)`+quote+`?\]?\)?[ \t]*[:=,][ \t]*`+quote+`?(?i:basic)(?:[ \t]+|%20|\+)([A-Za-z0-9+/]{6,}={0,2})`, basic)},
		{"authorization", list("authorization"), true, after(
			`(?i:authorization)`+quote+`?\]?\)?[ \t]*[:=,][ \t]*`+quote+`?(?i:bearer|token|apikey)(?:[ \t]+|%20|\+)([^\s"'`+"`"+`\\,;<>(){}]{8,})`, credential)},
		{"authorization", list("authorization"), true, after(
			`(?i:authorization)`+quote+`?\]?\)?[ \t]*[:=,][ \t]*`+quote+`?([A-Za-z0-9._~+/-]{16,}=*)`, random)},
		// https://www.rfc-editor.org/rfc/rfc6750#section-2.1
		{"authorization", list("bearer "), true, after(`(?i:bearer) +([A-Za-z0-9._~+/-]{20,}=*)`, random)},
		// https://docs.npmjs.com/about-access-tokens
		{"npm-token", list("npm_"), false, token(`npm_[A-Za-z0-9]{36,}`)},
		// https://pypi.org/help/#apitoken
		{"pypi-token", list("pypi-AgE"), false, token(`pypi-AgE[A-Za-z0-9_-]{40,}`)},
		// https://docs.docker.com/security/access-tokens/
		{"docker-pat", list("dckr_pat_", "dckr_oat_"), false, token(`dckr_[po]at_[A-Za-z0-9_-]{20,}`)},
		// https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
		{"sendgrid-key", list("SG."), false, token(`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}`)},
		// https://www.twilio.com/docs/iam/api-keys
		{"twilio-key", list("SK"), false, token(`SK[0-9a-fA-F]{32}\b`)},
		// https://core.telegram.org/bots/api#authorizing-your-bot
		{"telegram-token", list(":A"), false, botToken},
		// https://huggingface.co/docs/hub/security-tokens
		{"huggingface-token", list("hf_", "api_org_"), false, token(`(?:hf|api_org)_[A-Za-z0-9]{30,}`)},
		// https://docs.digitalocean.com/reference/api/create-personal-access-token/
		{"digitalocean-token", list("dop_v1_", "doo_v1_", "dor_v1_"), false, token(`do[por]_v1_[a-f0-9]{40,}`)},
		// https://docs.discord.com/developers/reference#authentication. A bot's token
		// starts with its id, decimal digits in base64, hence the narrow start.
		{
			"discord-token", list("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"), false,
			token(`[MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{18,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`),
		},
		// https://docs.discord.com/developers/resources/webhook#execute-webhook
		{"discord-token", list("/api/webhooks/"), false, after(`/api/webhooks/\d{5,}/([A-Za-z0-9_-]{30,})`, filled)},
		// What a name calls a secret. There is no format: see assigned.
		{"password", list("password", "passwd", "passphrase", "pwd"), true, assigned(humanSecret)},
		{"secret", list("secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "credential"), true, assigned(machineSecret)},
	}
}

func list(literals ...string) []string { return literals }
