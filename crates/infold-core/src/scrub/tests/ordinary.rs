//! Text that holds no secret, though it may look like it does, stays as it is.

use super::canaries::filled;
use super::scrub;

fn stays(text: &str) {
    assert_eq!(scrub(text).as_str(), text);
}

#[test]
fn hashes_ids_and_encoded_data_stay() {
    for template in [
        "commit {h40}",
        "sha256:{h64}",
        "integrity sha512-{b86}==",
        "id: {g0}",
        "toolu_{a24}",
        "call_{a24}",
        "req_{a24}",
        "br_{g0}",
        "ETag: \"{h32}\"",
        "data:image/png;base64,iVBORw0KGgo{b2000}=",
        "sess_{g0} sess-{h12}",
        "checksum = \"{h64}\"",
        "-----BEGIN CERTIFICATE-----\n{b64}\n{b64}\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{b43} me@host",
    ] {
        stays(&filled(template));
    }
}

#[test]
fn a_megabyte_of_base64_stays() {
    stays(&filled("{b1000000}"));
    stays(&filled("{h1000000}"));
}

#[test]
fn code_that_speaks_of_secrets_stays() {
    for code in [
        "let token = self.tokens.next_token();",
        "const apiKey = process.env.OPENAI_API_KEY ?? \"\";",
        "api_key = os.environ[\"API_KEY_V2\"]",
        "password: String,",
        "if (password === confirmPassword2) {",
        "secret_key_base: <%= ENV[\"SECRET_KEY_BASE\"] %>",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "max_tokens = 32768, token_count: 12345678901234",
        "let signing_key = P256SigningKey::from_pkcs8_der(bytes)?;",
        "const privateKey = secp256k1.utils.randomPrivateKey();",
        "passwordLabel: \"Password:\", passwordHint: \"At least 8 characters\"",
        "\"password\": \"password\", \"secret\": \"<YOUR_SECRET>\"",
        "AUTH_TOKEN=$(cat /run/secrets/auth_token_v2)",
        "http://localhost:8080/api/v1/users@2x.png",
        "git@github.com:owner/repo.git https://user:password@example.com/",
        "Authorization: Bearer <token>, authorization: `Bearer ${token}`",
        "curl -u \"$USER:$PASS\" https://a.b; curl -u user:pass https://a.b",
        "credentialsId: 'deploy-key-for-staging', public_key = \"abc123def456ghi789\"",
        "nextPageToken: \"a1B2c3D4e5F6g7H8i9J0\"",
        "header = \"-----BEGIN RSA PRIVATE KEY-----\"; footer = \"-----END RSA PRIVATE KEY-----\"",
        "if password == expected\n    password: Incomplete\n    self.trust_password = trust_password\n",
        "<label for=\"password\">Passwort</label> password: Kennwort\n {\"password\": \"Wachtwoord\"}",
        "Buffer.from(password, \"base64\"); [\"secret\", \"Ed25519\"]; 'password' => 'required|min:8|confirmed'",
        "\"arn:aws:lambda:*:*:function:my-fn*\" \"RequestToken\": \"3b241101-e2bb-4255-8caf-4136c566a962\"",
        "a password parameter is \"secure\"; password: expired\n",
        "task_list, risk-free, ask-me-anything-about-these-things-today",
        "s.AcceptanceTimeoutSeconds hf_requiredCharacteristicTypesForDisplayMetadata",
    ] {
        stays(code);
    }
}

#[test]
fn examples_and_masks_stay() {
    for template in ["ghp_{x}", "AKIAIOSFODNN7EXAMPLE", "glpat-{x}", "sk-ant-api03-{x}", "password = '********'"] {
        stays(&template.replace("{x}", &"x".repeat(60)));
    }
}
