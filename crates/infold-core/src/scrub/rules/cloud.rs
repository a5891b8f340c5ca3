//! Keys of cloud providers, and of password managers and other keepers of keys.

use super::{Rule, named, token, word};

pub(super) static RULES: &[Rule] = &[
    // Amazon
    word(
        "aws-access-key-id",
        &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        r"(?:A3T[0-9A-Z]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",
        2.5,
    ),
    named(
        "aws-secret-access-key",
        &["aws", "secret_access_key", "secretaccesskey", "secret access key"],
        r"(?i:aws[0-9a-z_. -]{0,20}(?:secret|key)[0-9a-z_. -]{0,20}|secret[_ -]?access[_ -]?key)",
        r"([0-9A-Za-z/+]{40})(?:$|[^0-9A-Za-z/+=])",
        3.0,
    ),
    named(
        "aws-session-token",
        &["session_token", "sessiontoken", "security_token"],
        r"(?i:session|security)[_-]?(?i:token)",
        r"([0-9A-Za-z/+=]{100,})",
        4.0,
    ),
    token(
        "aws-bedrock-key",
        &["ABSK", "bedrock-api-key-"],
        r"ABSKQmVkcm9ja0FQSUtleS[0-9A-Za-z+/]{60,}={0,2}|bedrock-api-key-[0-9A-Za-z+/]{24,}={0,2}",
        3.0,
    ),
    word("aws-mws-token", &["amzn.mws."], r"amzn\.mws\.[0-9a-f]{8}-[0-9a-f-]{27}", 3.0),
    word("aws-appsync-key", &["da2-"], r"da2-[0-9a-z]{26}", 3.0),
    // Google
    word("google-api-key", &["AIza"], r"AIza[0-9A-Za-z_-]{35}", 3.5),
    token("google-oauth-secret", &["GOCSPX-"], r"GOCSPX-[0-9A-Za-z_-]{20,}", 3.0),
    token("google-access-token", &["ya29."], r"ya29\.[0-9A-Za-z_.-]{30,}", 3.5),
    word("google-refresh-token", &["1//0"], r"1//0[0-9A-Za-z_-]{40,}", 3.5),
    // Microsoft
    named(
        "azure-storage-key",
        &["AccountKey", "SharedAccessKey"],
        r"AccountKey|SharedAccessKey",
        r"([0-9A-Za-z+/]{40,}={0,2})",
        3.5,
    ),
    named(
        "azure-app-config-secret",
        &["azconfig.io"],
        r"azconfig\.io[^\s]{1,80};Secret",
        r"([0-9A-Za-z+/]{40,}={0,2})",
        3.5,
    ),
    token("azure-sas", &["sig="], r"[?&;]sig=([0-9A-Za-z%+/]{40,}(?:=|%3[Dd])?)", 3.5),
    word("azure-ad-secret", &["Q~"], r"[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}", 3.3),
    word(
        "azure-key",
        &["JQQJ9", "AZDO"],
        r"[0-9A-Za-z]{52}JQQJ9[0-9A-Za-z]{26,28}|[0-9A-Za-z]{76}AZDO[0-9A-Za-z]{4}",
        3.5,
    ),
    // Other clouds
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[por]_v1_[0-9a-f]{64,}", 3.0),
    token("heroku-key", &["HRKU-"], r"HRKU-[0-9A-Za-z_-]{36,}", 3.0),
    named(
        "heroku-legacy-key",
        &["heroku"],
        r"(?i:heroku)[0-9A-Za-z_.-]{0,24}",
        r"([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})",
        2.5,
    ),
    word("alibaba-key-id", &["LTAI"], r"LTAI[0-9A-Za-z]{16,24}", 3.0),
    token("cloudflare-origin-ca-key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}", 3.0),
    word("databricks-token", &["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9]{1,2})?", 3.0),
    word(
        "yandex-key",
        &["AQVN", "t1."],
        r"AQVN[0-9A-Za-z_-]{35,38}|t1\.[0-9A-Za-z_-]{10,}={0,2}\.[0-9A-Za-z_-]{80,}={0,2}",
        3.5,
    ),
    token("openshift-token", &["sha256~"], r"sha256~[0-9A-Za-z_-]{43,}", 3.5),
    named(
        "kubernetes-bootstrap-token",
        &["bootstrap", "kubeadm"],
        r"(?i:bootstrap[_-]token)|kubeadm join[^\n]{0,100}--token",
        r"([0-9a-z]{6}\.[0-9a-z]{16})",
        3.0,
    ),
    // Keepers of keys
    word(
        "1password-secret-key",
        &["A3-"],
        r"A3-[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})-[0-9A-Z]{5}-[0-9A-Z]{5}-[0-9A-Z]{5}",
        3.3,
    ),
    token("1password-service-token", &["ops_eyJ"], r"ops_eyJ[0-9A-Za-z+/_-]{100,}={0,3}", 3.5),
    token("age-secret-key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[0-9A-Z]{58,}", 0.0),
    named("wireguard-key", &["PrivateKey", "PresharedKey"], r"PrivateKey|PresharedKey", r"([0-9A-Za-z+/]{43}=)", 3.5),
];
