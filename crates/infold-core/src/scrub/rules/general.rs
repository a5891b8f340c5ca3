//! Secrets that have no provider's prefix: in headers, URLs and command lines, and values whose name says that they are
//! secret.

use super::super::look::SecretLook;
use super::{Rule, named, token, word};

/// Names whose value is a secret. A name ends with one of these: `token_count` and `secretName` do not.
const SECRET_NAMES: &str = concat!(
    r"(?i:(?:next page )?[0-9a-z_.-]{0,40}",
    r"(?:token|secret|passw(?:or)?d|passphrase|pwd|credentials?|auth|api[_-]?pat|[_-]pat",
    r"|(?:api|access|auth|secret|private|encryption|signing|account|licen[sc]e|master|shared|admin|client|app|service",
    r"|session|consumer|deploy|developer|insert|query|stream|webhook|storage|user|team)[_.-]?key|secret key))",
);

/// Names whose value is a password.
const PASSWORD_NAMES: &str =
    r"(?i:[0-9a-z_.-]{0,40}(?:passw(?:or)?d|passphrase|passwort|pwd|secret|secret[_-]?key|[_-]pass|\bpass))";

pub(super) static RULES: &[Rule] = &[
    word(
        "jwt",
        &["ey"],
        concat!(
            r"ey[0-9A-Za-z_-]{15,}\.ey[0-9A-Za-z_-]{15,}\.[0-9A-Za-z_=-]*",
            r"|eyJ[0-9A-Za-z_-]{15,}\.[0-9A-Za-z_-]{15,}\.[0-9A-Za-z_=-]{15,}",
        ),
        3.5,
    ),
    token(
        "private-key-base64",
        &["LS0tLS1CRUdJTi"],
        r"LS0tLS1CRUdJTi[0-9A-Za-z+/]{0,40}(?:UFJJVkFURSBLRVkt|BSSVZBVEUgS0VZL|QUklWQVRFIEtFWS0t)[0-9A-Za-z+/=]{16,}",
        3.0,
    ),
    // Headers
    token(
        "authorization-header",
        &["authorization"],
        concat!(
            r#"(?i:authorization)["'`\\]{0,3}[ \t]{0,4}[:=,][ \t]{0,4}["'`\\]{0,3}"#,
            r#"(?i:bearer|basic|token|bot|ssws|apikey|digest)[ \t]{1,4}["'`]?([0-9A-Za-z+/=_.~:-]{8,})"#,
        ),
        2.6,
    )
    .looking(SecretLook::Mixed),
    token(
        "authorization-header-bare",
        &["authorization"],
        concat!(
            r#"(?i:authorization)["'`\\]{0,3}[ \t]{0,4}[:=][ \t]{0,4}["'`\\]{0,3}"#,
            r"(?:[A-Za-z][A-Za-z-]{2,15}[ \t]{1,4})?([0-9A-Za-z+/=_.~-]{16,})(?:$|[^0-9A-Za-z+/=_.~(\[-])",
        ),
        3.0,
    )
    .looking(SecretLook::Random),
    token("bearer-token", &["bearer"], r"(?i:bearer)[ \t:]{1,4}([0-9A-Za-z+/=_.~-]{16,})", 3.0)
        .looking(SecretLook::Random),
    // Addresses and command lines
    token(
        "url-password",
        &["://"],
        r#"[a-z][0-9a-z+.-]{1,30}://[^\s/@:"'`<>\\\[\]{}$(]{0,100}:([^\s/:"'`<>\\\[\]{}$(]{3,200})@[0-9A-Za-z\[%_*{-]"#,
        0.9,
    )
    .looking(SecretLook::Chosen),
    token(
        "curl-user",
        &["curl"],
        concat!(
            r#"(?i:curl)(?:[^\n]|\\\n){0,300}?[ \t\n](?:-u|--user)[ \t=]{0,2}["'\\]{0,2}"#,
            r#"[^\s:"'<>\[\]$\\]{0,80}["']?:["']?([^\s"'<>\[\]$\\]{3,}[^\s"'<>\[\]\\]*)"#,
        ),
        2.2,
    )
    .looking(SecretLook::Chosen),
    token(
        "flag-secret",
        &["-password", "-passwd", "-token", "-secret", "-api-key", "-apikey"],
        concat!(
            r"[ \t]-{1,2}(?i:[a-z-]{0,20}(?:password|passwd|token|secret|api-?key))(?:[ \t]{1,4}|=)",
            r#"["']?([^\s"'`<>{}\\]{6,})"#,
        ),
        2.2,
    )
    .looking(SecretLook::Mixed),
    token("netrc-password", &["machine"], r"machine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(\S{4,})", 2.0)
        .looking(SecretLook::Chosen),
    token(
        "connection-string-password",
        &["password", "pwd"],
        r#"(?i:;[ \t]{0,4}(?:password|pwd)[ \t]{0,4}=[ \t]{0,4})([^\s;"'<>{}$\[\]]{3,})"#,
        1.5,
    ),
    // Hashes of passwords: whoever has one can try passwords against it offline
    token(
        "password-hash",
        &["$1$", "$2", "$5$", "$6$", "$8$", "$y$"],
        concat!(
            r"\$2[abxy]\$[0-9]{2}\$[0-9A-Za-z./]{53}",
            r"|\$[1568y]\$(?:rounds=[0-9]{1,9}\$)?[0-9A-Za-z./]{1,32}\$[0-9A-Za-z./]{22,}",
        ),
        3.0,
    ),
    token("kerberos-hash", &["$krb5"], r"\$krb5(?:asrep|tgs|pa)\$[0-9]{1,2}\$[0-9A-Za-z$*@:./_-]{40,}", 3.0),
    // Values by their name
    named(
        "named-secret",
        &["token", "secret", "passw", "pwd", "passphrase", "credential", "auth", "key", "pat"],
        SECRET_NAMES,
        // A value that is called, indexed or followed by `::` is code.
        r"([0-9A-Za-z_.=/+~%-]{12,})(?:$|[^0-9A-Za-z_.=/+~%:(\[-]|:(?:$|[^:]))",
        3.0,
    )
    .looking(SecretLook::Random),
    named(
        "named-password",
        &["passw", "passphrase", "pwd", "secret", "pass"],
        PASSWORD_NAMES,
        r#"([^\s"'`<>\\]{6,})["'`\\]"#,
        2.2,
    )
    .quoted()
    .looking(SecretLook::Password),
    token(
        "env-password",
        &["PASS", "PWD", "SECRET"],
        concat!(
            r#"(?:^|[\s"'#]|\\n)[0-9A-Z_]{0,40}"#,
            r#"(?:PASSWORD|PASSWD|PASS|PWD|SECRET|PASSPHRASE)=([^\s"'`<>{}\\]{6,})"#,
        ),
        2.2,
    )
    .looking(SecretLook::Password),
    token(
        "told-password",
        &["passw", "passphrase"],
        r#"(?i:password|passphrase)[^\n"'.]{0,40} is:?[ \t]{1,4}["'`]([^\s"'`]{4,})["'`]"#,
        2.2,
    )
    .looking(SecretLook::Mixed),
];
