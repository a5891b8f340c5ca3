//! Passwords in the formats of files and command lines, each with what is written in the same place and is none.

use super::canaries::filled;
use super::scrub;

/// A made-up password that nothing but its place gives away.
const PASSWORD: &str = "Gr4vel-Moth!7";

/// A format with `@` where its password is, and texts of the same format that hold none.
const FORMATS: &[(&str, &str, &[&str])] = &[
    (
        "YAML",
        "database:\n  user: app\n  password: @\n  host: db\n",
        &["password: ${DB_PASSWORD}\n", "password:\n", "password: string\n"],
    ),
    ("YAML in quotes", "password: \"@\"\n", &["password: \"{{ vault_password }}\"\n", "password: ''\n"]),
    ("YAML on the next line", "password: |\n  @\n", &["password: |\n  {{ lookup('env', 'X') }}\n"]),
    (
        "properties",
        "spring.datasource.password=@\n",
        &["spring.datasource.password=${DB_PASS}\n", "password.min.length=12\n"],
    ),
    ("properties with blanks", "db.password = @\n", &["db.password = %(secret)s\n"]),
    ("ini", "[client]\nuser=root\npassword=@\n", &["[client]\npassword=\nhost=a\n"]),
    (
        "XML",
        "<user>app</user><password>@</password>",
        &["<password/>", "<password>${env.PASS}</password>", "<password>*****</password>"],
    ),
    ("XML attribute", "<datasource user=\"app\" password=\"@\"/>", &["<input type=\"password\" name=\"p1\"/>"]),
    ("settings in XML", "<add key=\"Password\" value=\"@\"/>", &["<add key=\"PasswordLength\" value=\"12\"/>"]),
    (
        "Maven",
        "<server><id>a</id><username>me</username><password>@</password></server>",
        &["<password>${env.CI_TOKEN}</password>"],
    ),
    ("Maven's passphrase", "<gpg.passphrase>@</gpg.passphrase>", &["<passphrase></passphrase>"]),
    ("Ansible", "ansible_become_password: @\n", &["ansible_become_password: \"{{ become }}\"\n"]),
    (
        "Ansible inventory",
        "web1 ansible_host=10.0.0.5 ansible_user=ops ansible_ssh_pass=@\n",
        &["web1 ansible_host=10.0.0.5 ansible_port=2222\n"],
    ),
    ("WordPress", "define( 'DB_PASSWORD', '@' );", &["define( 'DB_PASSWORD', getenv('DB_PASSWORD_2') );"]),
    ("PHP", "'password' => '@',", &["'password' => env('DB_PASSWORD', ''),"]),
    ("mysql", "mysql -h db -u root -p@ shop < dump.sql", &["mysql -h db -u root -p shop", "mysql -u root -p"]),
    ("mysqldump", "mysqldump --single-transaction -uroot -p@ shop", &["mysqldump -uroot -p\"$PASS\" shop"]),
    ("sshpass", "sshpass -p '@' ssh ops@10.0.0.5", &["sshpass -e ssh ops@10.0.0.5", "sshpass -p \"$PASS\" ssh a"]),
    ("pgpass", "db.internal:5432:shop:app:@\n", &["db.internal:5432:shop:app\n", "127.0.0.1:5432:5432\n"]),
    ("PostgreSQL's environment", "PGPASSWORD=@ psql -h db", &["PGPASSWORD=$PASS psql -h db"]),
    ("netrc", "machine a.example login me password @\n", &["machine a.example login me\n"]),
    ("SQL", "ALTER USER app WITH PASSWORD '@';", &["ALTER USER app WITH PASSWORD NULL;"]),
    ("MySQL's SQL", "CREATE USER 'a'@'%' IDENTIFIED BY '@';", &["GRANT ALL ON *.* TO 'a'@'%';"]),
    ("redis", "redis-cli -h cache -a @ ping", &["redis-cli -h cache ping"]),
    (
        "docker login",
        "docker login -u me -p @ registry.example",
        &["docker login -u me --password-stdin registry.example"],
    ),
    ("a flag", "deploy --db-password=@ --now", &["deploy --password-stdin --now", "deploy --password $PASS"]),
    (
        "connection string",
        "Server=db;Database=a;User Id=sa;Password=@;Encrypt=true",
        &["Server=db;Integrated Security=true"],
    ),
    ("JDBC", "jdbc:sqlserver://db:1433;user=sa;password=@", &["jdbc:postgresql://db:5432/shop"]),
    ("an address", "amqp://app:@@mq.example:5672/", &["amqp://app@mq.example:5672/", "http://localhost:3000/@scope/a"]),
    ("JSON", "{\"user\": \"a\", \"password\": \"@\"}", &["{\"password\": null}", "{\"password\": \"string\"}"]),
    (
        "JSON in JSON",
        "{\"body\": \"{\\\"password\\\": \\\"@\\\"}\"}",
        &["{\"body\": \"{\\\"password\\\": \\\"\\\"}\"}"],
    ),
    (
        "a pair of name and value",
        "- name: DB_PASSWORD\n  value: @\n",
        &["- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n"],
    ),
    ("Dockerfile", "ENV MYSQL_ROOT_PASSWORD=@\n", &["ARG MYSQL_ROOT_PASSWORD\n"]),
    ("TOML", "password = \"@\"\n", &["password = { env = \"X\" }\n"]),
    ("a table", "name,password,role\nann,@,admin\n", &["name,password,role\n"]),
];

#[test]
fn passwords_are_found_in_every_format_and_what_is_none_stays() {
    let mut wrong = Vec::new();
    for (format, template, negatives) in FORMATS {
        let at = template.rfind('@').filter(|_| *format != "an address" && *format != "sshpass");
        let at = at.or_else(|| template.find('@')).unwrap();
        let text = format!("{}{PASSWORD}{}", &template[..at], &template[at + 1..]);
        let scrubbed = scrub(&text);
        if scrubbed.as_str().contains(PASSWORD) {
            wrong.push(format!("{format}: left in {text:?}"));
        }
        for negative in *negatives {
            if scrub(negative).as_str() != *negative {
                wrong.push(format!("{format}: taken out of {negative:?}: {}", scrub(negative).as_str()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_key_of_an_application_and_cookies_are_found() {
    let key = filled("{h128}");
    let rails = format!("production:\n  secret_key_base: {key}\n");
    assert!(!scrub(&rails).as_str().contains(&key));
    let session = filled("{a32}");
    for text in [
        format!("Cookie: theme=dark; session={session}; lang=en"),
        format!("Set-Cookie: connect.sid=s%3A{session}; Path=/; HttpOnly"),
        format!("curl -b 'cookie: sid={session}' https://a.example"),
        format!("\"cookie\": \"_app={session}\""),
        format!("Cookie: s={session}"),
        format!("cookies = {{\"s={session}\"}}"),
    ] {
        let scrubbed = scrub(&text);
        assert!(!scrubbed.as_str().contains(&session), "{text}");
        assert!(scrubbed.as_str().contains("ookie"), "{text}");
    }
    for text in [
        "Set-Cookie: theme=dark; Path=/; SameSite=Lax",
        "let cookie = cookies.get(name);",
        "cookie: consent=accepted-all",
    ] {
        assert_eq!(scrub(text).as_str(), text);
    }
}

#[test]
fn the_keys_that_amazon_exports_as_a_table_are_found() {
    let (id, key) = (filled("AKIA{u16}"), filled("{b40}"));
    let text =
        format!("User name,Password,Access key ID,Secret access key,Console login link\nann,,{id},{key},https://a\n");
    let scrubbed = scrub(&text);
    assert!(!scrubbed.as_str().contains(&id) && !scrubbed.as_str().contains(&key), "{scrubbed:?}");
    assert!(scrubbed.as_str().starts_with("User name,Password,Access key ID,Secret access key,"));
}

#[test]
fn the_values_of_a_kubernetes_secret_are_found() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  \
                password: c2VjcmV0LXdvcmQ=\nstringData:\n  url: plain-value\n---\nkind: ConfigMap\ndata:\n  a: cGxhaW4=\n";
    let scrubbed = scrub(text);
    for value in ["YWRtaW4=", "c2VjcmV0LXdvcmQ=", "plain-value"] {
        assert!(!scrubbed.as_str().contains(value), "{}", scrubbed.as_str());
    }
    for kept in ["name: db", "username: [", "type: Opaque", "a: cGxhaW4="] {
        assert!(scrubbed.as_str().contains(kept), "{kept} in {}", scrubbed.as_str());
    }
}
