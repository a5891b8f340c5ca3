//! One canary, a made-up secret, for each rule. The random parts are made when the test runs, so that nothing in this
//! file looks like a token to anybody's scanner, infold's included.

use super::{scrub, shape};

/// Replaces `{a36}` by 36 letters and digits. Kinds: `a` letters and digits, `l` lower case and digits,
/// `u` upper case and digits, `h` hex, `d` digits, `b` base64, `g` a UUID.
pub(super) fn filled(template: &str) -> String {
    let mut text = String::new();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for (index, part) in template.split(['{', '}']).enumerate() {
        if index % 2 == 0 {
            text.push_str(part);
            continue;
        }
        let (kind, length) = part.split_at(1);
        let letters: &[u8] = match kind {
            "a" => b"aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbCcDeFfGhIiJkLlMoOnPqRsTuVwXyZ",
            "l" => b"a3b5c7d9e1f2g4h6i8j0klmnopqrstuvwxyz",
            "u" => b"A3B5C7D9E1F2G4H6I8J0KLMNOPQRSTUVWXYZ",
            "h" => b"a1b2c3d4e5f60789",
            "d" => b"3141592653589793",
            "b" => b"aB3dE5gH7j+K9mN1pQ2r/S4tU6vW8xY0zAbCcDeFfGhIiJkLlMoOnPqRsTuVwXyZ",
            "g" => {
                text.push_str(&filled("{h8}-{h4}-4{h3}-8{h3}-{h12}"));
                continue;
            }
            _ => panic!("unknown kind {kind}"),
        };
        for _ in 0..length.parse::<usize>().unwrap() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(char::from(letters[(state >> 33) as usize % letters.len()]));
        }
    }
    text
}

/// A rule, its canary, and what scrubbing leaves of that: `@` is where the placeholder is.
pub(super) const CANARIES: &[(&str, &str, &str)] = &[
    // Code hosts, registries, tools
    ("github-pat", "ghp_{a36}", "@"),
    ("github-fine-grained-pat", "github_pat_{a22}_{a59}", "@"),
    ("github-oauth", "gho_{a36}", "@"),
    ("github-app", "ghs_{a36}", "@"),
    ("github-refresh", "ghr_{a76}", "@"),
    ("gitlab-token", "glpat-{a20}", "@"),
    ("gitlab-runner", "GR1348941{a20}", "@"),
    ("gitlab-session", "_gitlab_session={l32}", "_gitlab_session=@"),
    ("bitbucket-app-password", "ATBB{a32}", "@"),
    ("atlassian-token", "ATATT3{a180}", "@"),
    ("sourcegraph-token", "sgp_{h16}_{h40}", "@"),
    ("npm-token", "npm_{a36}", "@"),
    ("npm-legacy-token", "//r.io/:_authToken={g0}", "//r.io/:_authToken=@"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc{a80}", "@"),
    ("rubygems-token", "rubygems_{h48}", "@"),
    ("crates-io-token", "cio{a32}", "@"),
    ("clojars-token", "CLOJARS_{l60}", "@"),
    ("nuget-key", "oy2{l43}", "@"),
    ("docker-token", "dckr_pat_{a27}", "@"),
    ("jfrog-key", "AKCp{a69}", "@"),
    ("jfrog-reference-token", "cmVmd{a59}", "@"),
    ("terraform-token", "{a14}.atlasv1.{a67}", "@"),
    ("vault-token", "hvs.{a90}", "@"),
    ("vault-legacy-token", "VAULT_TOKEN=s.{a24}", "VAULT_TOKEN=@"),
    ("vault-unseal-key", "Unseal Key 1: {b44}", "Unseal Key 1: @"),
    ("pulumi-token", "pul-{h40}", "@"),
    ("doppler-token", "dp.pt.{a43}", "@"),
    ("infracost-key", "ico-{a32}", "@"),
    ("prefect-key", "pnu_{l36}", "@"),
    ("circleci-token", "CCIPAT_{a22}_{h40}", "@"),
    ("buildkite-token", "bkua_{h40}", "@"),
    ("octopus-key", "API-{u26}", "@"),
    ("harness-token", "pat.{a22}.{h24}.{a20}", "@"),
    ("fly-token", "fo1_{a43}", "@"),
    ("netlify-token", "nfp_{a36}", "@"),
    ("render-key", "rnd_{a32}", "@"),
    ("scalingo-token", "tk-us-{a48}", "@"),
    ("vercel-token", "vcp_{a56}", "@"),
    ("planetscale-token", "pscale_tkn_{a43}", "@"),
    ("supabase-token", "sbp_{h40}", "@"),
    ("sentry-token", "sntryu_{h64}", "@"),
    ("new-relic-key", "NRAK-{u27}", "@"),
    ("new-relic-license", "{h36}NRAL", "@"),
    ("pixie-key", "px-api-{g0}", "@"),
    ("grafana-token", "glsa_{a32}_{h8}", "@"),
    ("grafana-key", "eyJrIjoi{a70}", "@"),
    ("sonar-token", "squ_{h40}", "@"),
    ("sonar-login", "-Dsonar.login={h40}", "-Dsonar.login=@"),
    ("code-climate-token", "CC_TEST_REPORTER_ID: {h64}", "CC_TEST_REPORTER_ID: @"),
    ("dynatrace-token", "dt0c01.{u24}.{u64}", "@"),
    ("datadog-key", "DD_API_KEY={h32}", "DD_API_KEY=@"),
    ("linear-key", "lin_api_{a40}", "@"),
    ("postman-key", "PMAK-{h24}-{h34}", "@"),
    ("readme-key", "rdme_{l70}", "@"),
    ("figma-token", "figd_{a40}", "@"),
    ("figma-legacy-token", "X-Figma-Token: 1234-{g0}", "X-Figma-Token: @"),
    ("jenkins-token", "JENKINS_TOKEN=11{h32}", "JENKINS_TOKEN=@"),
    ("dependency-track-key", "odt_{a32}", "@"),
    ("settlemint-token", "sm_pat_{a16}", "@"),
    ("stackhawk-key", "hawk.{a20}.{a20}", "@"),
    ("defined-networking-token", "dnkey-{a26}-{a52}", "@"),
    // Clouds
    ("aws-access-key-id", "AKIA{u16}", "@"),
    ("aws-secret-access-key", "aws_secret_access_key = {b40}", "aws_secret_access_key = @"),
    ("aws-session-token", "aws_session_token={b300}", "aws_session_token=@"),
    ("aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS{b100}", "@"),
    ("aws-mws-token", "amzn.mws.{g0}", "@"),
    ("aws-appsync-key", "da2-{l26}", "@"),
    ("google-api-key", "AIza{a35}", "@"),
    ("google-oauth-secret", "GOCSPX-{a28}", "@"),
    ("google-access-token", "ya29.{a120}", "@"),
    ("google-refresh-token", "1//0{a60}", "@"),
    ("azure-storage-key", "AccountName=a;AccountKey={b86}==;B=c", "AccountName=a;AccountKey=@;B=c"),
    ("azure-app-config-secret", "https://a.azconfig.io;Id=x;Secret={b43}=", "https://a.azconfig.io;Id=x;Secret=@"),
    ("azure-sas", "https://a.net/b?sv=1&sig={a43}%3D&se=2", "https://a.net/b?sv=1&sig=@&se=2"),
    ("azure-ad-secret", "{a3}8Q~{a34}", "@"),
    ("azure-key", "{a52}JQQJ99{a26}", "@"),
    ("digitalocean-token", "dop_v1_{h64}", "@"),
    ("heroku-key", "HRKU-AA{a58}", "@"),
    ("heroku-legacy-key", "HEROKU_API_KEY: {g0}", "HEROKU_API_KEY: @"),
    ("alibaba-key-id", "LTAI{a20}", "@"),
    ("cloudflare-origin-ca-key", "v1.0-{h24}-{h146}", "@"),
    ("databricks-token", "dapi{h32}", "@"),
    ("yandex-key", "AQVN{a36}", "@"),
    ("openshift-token", "sha256~{a43}", "@"),
    ("kubernetes-bootstrap-token", "BOOTSTRAP_TOKEN: \"{l6}.{l16}\"", "BOOTSTRAP_TOKEN: \"@\""),
    ("1password-secret-key", "A3-{u6}-{u11}-{u5}-{u5}-{u5}", "@"),
    ("1password-service-token", "ops_eyJ{a300}", "@"),
    ("age-secret-key", "AGE-SECRET-KEY-1{u58}", "@"),
    ("wireguard-key", "PrivateKey = {b43}=", "PrivateKey = @"),
    // Models
    ("anthropic-key", "sk-ant-api03-{a93}AA", "@"),
    ("openai-project-key", "sk-proj-{a74}T3BlbkFJ{a74}", "@"),
    ("openrouter-key", "sk-or-v1-{h64}", "@"),
    ("openai-key", "sk-{a20}T3BlbkFJ{a20}", "@"),
    ("elevenlabs-key", "sk_{h48}", "@"),
    ("hugging-face-token", "hf_{a34}", "@"),
    ("groq-key", "gsk_{a52}", "@"),
    ("perplexity-key", "pplx-{a48}", "@"),
    ("xai-key", "xai-{a80}", "@"),
    ("replicate-token", "r8_{a37}", "@"),
    ("nvidia-key", "nvapi-{a64}", "@"),
    ("langsmith-key", "lsv2_pt_{h32}_{h10}", "@"),
    ("tavily-key", "tvly-{a32}", "@"),
    ("firecrawl-key", "fc-{h32}", "@"),
    ("jina-key", "jina_{a60}", "@"),
    ("wandb-key", "wandb_v1_{a77}", "@"),
    ("together-key", "tgp_v1_{a43}", "@"),
    ("cursor-key", "key_{h64}", "@"),
    ("brave-search-key", "BSA{a28}", "@"),
    ("posthog-key", "phx_{a43}", "@"),
    ("e2b-key", "e2b_{h40}", "@"),
    // Services
    ("slack-token", "xoxb-{d12}-{d13}-{a24}", "@"),
    ("slack-app-token", "xapp-1-{u11}-{d13}-{h64}", "@"),
    ("slack-webhook", "https://hooks.slack.com/services/T{u8}/B{u10}/{a24}", "https://hooks.slack.com/services/@"),
    ("discord-webhook", "https://discord.com/api/webhooks/{d18}/{a68}", "https://discord.com/api/webhooks/@"),
    ("discord-token", "bot M{a23}.{a6}.{a38}", "bot @"),
    ("discord-client-secret", "DISCORD_CLIENT_SECRET={a32}", "DISCORD_CLIENT_SECRET=@"),
    (
        "teams-webhook",
        "https://a.webhook.office.com/webhookb2/{g0}@{g0}/x/{h32}",
        "https://a.webhook.office.com/webhookb2/@",
    ),
    ("telegram-bot-token", "https://api.telegram.org/bot{d10}:AA{a33}/getMe", "https://api.telegram.org/bot@/getMe"),
    ("twilio-key", "SK{h32}", "@"),
    ("twilio-auth-token", "TWILIO_AUTH_TOKEN={h32}", "TWILIO_AUTH_TOKEN=@"),
    ("sendgrid-key", "SG.{a22}.{a43}", "@"),
    ("mailgun-key", "key-{h32}", "@"),
    ("mailgun-signing-key", "mailgun {h32}-{h8}-{h8}", "mailgun @"),
    ("mailchimp-key", "{h32}-us14", "@"),
    ("brevo-key", "xkeysib-{h64}-{a16}", "@"),
    ("postmark-token", "X-Postmark-Server-Token: {g0}", "X-Postmark-Server-Token: @"),
    ("stripe-key", "sk_live_{a24}", "@"),
    ("stripe-webhook-secret", "whsec_{a32}", "@"),
    ("square-token", "sq0atp-{a22}", "@"),
    ("square-access-token", "EAAA{a60}", "@"),
    ("shopify-token", "shpat_{h32}", "@"),
    ("plaid-token", "access-production-{g0}", "@"),
    ("braintree-token", "access_token$production${l16}${h32}", "@"),
    ("easypost-key", "EZAK{a54}", "@"),
    ("duffel-token", "duffel_live_{a43}", "@"),
    ("shippo-token", "shippo_live_{h40}", "@"),
    ("flutterwave-key", "FLWSECK_TEST-{h32}-X", "@"),
    ("gocardless-token", "GOCARDLESS_TOKEN=live_{a40}", "GOCARDLESS_TOKEN=@"),
    ("lob-key", "LOB_KEY=live_{h35}", "LOB_KEY=@"),
    ("dropbox-token", "sl.{a140}", "@"),
    ("airtable-token", "pat{a14}.{h64}", "@"),
    ("notion-token", "ntn_{d11}{a35}", "@"),
    ("typeform-token", "tfp_{a44}_{a14}", "@"),
    ("mapbox-token", "sk.eyJ1{a60}.{a22}", "@"),
    ("frameio-token", "fio-u-{a64}", "@"),
    ("adafruit-key", "aio_{a28}", "@"),
    ("adobe-secret", "p8e-{a32}", "@"),
    ("intra42-secret", "s-s4t2ud-{h64}", "@"),
    ("salesforce-token", "00D{a12}!{a96}", "@"),
    ("facebook-page-token", "EAAC{a120}", "@"),
    ("facebook-app-token", "facebook {d15}|{a27}", "facebook @"),
    ("facebook-secret", "FB_APP_SECRET={h32}", "FB_APP_SECRET=@"),
    ("twitter-bearer", "AAAAAAAAAAAAAAAAAAAAA{a90}", "@"),
    ("twitter-access-token", "twitter {d18}-{a40}", "twitter @"),
    ("twitch-stream-key", "live_{d9}_{a30}", "@"),
    // General
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJ{a40}.{a43}", "@"),
    ("private-key-base64", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{b200}", "@"),
    ("authorization-header", "Authorization: Basic dXNl{a12}=", "Authorization: Basic @"),
    ("authorization-header-bare", "Authorization: {a24}", "Authorization: @"),
    ("bearer-token", "use bearer {a32}", "use bearer @"),
    ("url-password", "postgres://app:s3cr!t@db.local/main", "postgres://app:@@db.local/main"),
    ("curl-user", "curl -s -u elastic:pa{a8} https://a.b", "curl -s -u elastic:@ https://a.b"),
    ("curl-user-key", "curl -u \"{a20}:\" https://a.b", "curl -u \"@:\" https://a.b"),
    ("flag-secret", "deploy --password {a4}!x9 --now", "deploy --password @ --now"),
    ("netrc-password", "machine a.b login me password {l9}", "machine a.b login me password @"),
    ("connection-string-password", "Server=a;User Id=b;Password=hunter;Db=c", "Server=a;User Id=b;Password=@;Db=c"),
    ("password-hash", "root:$6${a8}${a86}:19000", "root:@:19000"),
    ("kerberos-hash", "$krb5asrep$23$u@d:{h32}${h64}", "@"),
    ("named-secret", "\"clientSecret\": \"{a32}\"", "\"clientSecret\": \"@\""),
    ("named-password", "password => 'Tr0ub4dor&3'", "password => '@'"),
    ("bare-password", "DB_PASSWORD=Tr0ub4dor&3", "DB_PASSWORD=@"),
    ("user-and-password", "user = 'ann'\npassword = 'open sesame'", "user = 'ann'\npassword = '@'"),
    ("compared-secret", "if creds.Secret != \"open-sesame\" then", "if creds.Secret != \"@\" then"),
    ("named-secret", "app_token = \"ä7Kü{a12}ßQ4\"", "app_token = \"@\""),
    ("told-password", "the password for root is 'Tr0ub4dor&3'", "the password for root is '@'"),
];

#[test]
fn every_canary_is_caught_by_its_rule_whole_and_alone() {
    for (rule, template, around) in CANARIES {
        let canary = filled(template);
        for (before, after) in [("", ""), ("see ", " there"), ("a\n", "\nb"), ("é ", " é")] {
            let scrubbed = scrub(&format!("{before}{canary}{after}"));
            let around = around.replacen('@', &format!("[SECRET:{rule}:#]"), 1);
            assert_eq!(shape(&scrubbed), format!("{before}{around}{after}"), "{canary}");
            assert_eq!(scrubbed.secrets(), 1);
        }
    }
}

#[test]
fn every_canary_is_caught_in_every_surrounding() {
    for (rule, template, _) in CANARIES.iter().filter(|(.., around)| *around == "@") {
        let canary = filled(template);
        for text in [
            format!("KEY={canary}"),
            format!("export KEY=\"{canary}\"\n"),
            format!("{{\"value\":\"{canary}\"}}"),
            format!("{{\\\"value\\\":\\\"{canary}\\\"}}"),
            format!("    12→\tvalue: '{canary}',"),
            format!("<value>{canary}</value>"),
            format!("https://a.b/c?value={canary}&d=e"),
            format!("+value = `{canary}`;"),
            format!("({canary})"),
            format!("é{canary}é"),
            format!("one\\n{canary}\\ntwo"),
        ] {
            let scrubbed = scrub(&text);
            assert!(!scrubbed.as_str().contains(&canary), "{rule}: {text}");
            assert_eq!(scrubbed.secrets(), 1, "{rule}: {text}");
        }
    }
}
