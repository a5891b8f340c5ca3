//! Who is let in: servers with certificates, nkeys and credentials files, and what is said to whom they do not know.

use std::fs;
use std::path::Path;
use std::process::Output;

use infold_testkit::nats::{Authority, NATS_USER, NatsServer, NatsSetup, Operator, SHARED_STREAM};
use infold_testkit::{DaemonSetup, TempFolder};
use nkeys::KeyPair;

use super::machines::{infold_command, keep_secret};
use crate::support::{Program, infold};

/// A machine's settings, as names and values.
type Setting = (&'static str, String);

/// A machine that may be let in, with the settings that say how.
struct Machine {
    folder: TempFolder,
    settings: Vec<Setting>,
}

impl Machine {
    fn new(address: &str) -> Self {
        let settings = [
            ("store.backend", "nats".to_owned()),
            ("store.nats.servers", format!("[{address:?}]")),
            ("store.nats.stream", SHARED_STREAM.to_owned()),
            ("store.nats.replicas", "1".to_owned()),
            ("store.nats.create", "true".to_owned()),
            ("store.nats.sync", "trust".to_owned()),
            ("store.nats.timeout_ms", "5000".to_owned()),
        ];
        Self { folder: TempFolder::new().unwrap(), settings: settings.to_vec() }
    }

    fn with(mut self, name: &'static str, value: impl std::fmt::Display) -> Self {
        self.settings.push((name, value.to_string()));
        self
    }

    /// Sets a file that has this text, which nobody else can read.
    fn with_secret(self, name: &'static str, text: &str) -> Self {
        let file = self.folder.join(name);
        keep_secret(&file, text);
        let file = file.display().to_string();
        self.with(name, file)
    }

    fn with_password(self, server: &NatsServer) -> Self {
        self.with("store.nats.user", NATS_USER).with_secret("store.nats.password_file", server.password())
    }

    /// What the program says of the state.
    fn status(&self) -> Output {
        let data = self.folder.join("data");
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut arguments = vec!["store", "status", "--data", data.to_str().unwrap()];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        infold_command(&arguments)
    }

    /// Asserts that a daemon can work: what it did is there for the next one.
    async fn assert_let_in(&self) {
        let set = |setup: DaemonSetup, (name, value): &Setting| setup.set(name, value);
        let setup = self.settings.iter().fold(infold(), set).data(self.folder.join("data"));
        let mut program = Program::start(setup).await.unwrap();
        let branch = program.open("s", "look around").await.unwrap();
        program.restart().await.unwrap();
        program.fold(&branch, "seen").await.unwrap();
    }

    /// Asserts that the machine is not let in, and that all of these words are said.
    fn assert_refused(&self, words: &[&str]) {
        let said = self.status();
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success(), "let in: {text}");
        for words in words {
            assert!(text.contains(words), "{words:?} is not in {text:?}");
        }
    }
}

fn encrypted(server: &NatsServer) -> String {
    server.client_url().replace("nats://", "tls://")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_believed_by_the_authority_that_a_setting_names() {
    let (ours, theirs) = (Authority::new().unwrap(), Authority::new().unwrap());
    let files = ours.sign("127.0.0.1").unwrap();
    let Some(server) = NatsSetup::default().with_tls(files).start_server().await.unwrap() else { return };
    let machine = || Machine::new(&encrypted(&server)).with_password(&server);
    let believing = |authority: &Authority| machine().with("store.nats.ca_file", authority.file().display());

    believing(&ours).assert_let_in().await;

    machine().assert_refused(&["UnknownIssuer", "set store.nats.ca_file"]);
    believing(&theirs).assert_refused(&["invalid peer certificate", "store.nats.ca_file has to have"]);
    let absent = machine().with("store.nats.ca_file", "/nowhere/authority.pem");
    absent.assert_refused(&["No such file", "check the files that store.nats.ca_file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_another_host_or_speaks_no_tls_is_named_so() {
    let ours = Authority::new().unwrap();
    let files = ours.sign("another.example").unwrap();
    let Some(server) = NatsSetup::default().with_tls(files).start_server().await.unwrap() else { return };
    let machine = |server: &NatsServer| {
        Machine::new(&encrypted(server)).with_password(server).with("store.nats.ca_file", ours.file().display())
    };
    machine(&server).assert_refused(&["another.example", "for the host that store.nats.servers names"]);

    let plain = NatsServer::start().await.unwrap().unwrap();
    machine(&plain).assert_refused(&["does not speak TLS", "use nats://"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_ask_for_a_certificate_let_in_whom_their_authority_signed_for() {
    let (ours, theirs) = (Authority::new().unwrap(), Authority::new().unwrap());
    let files = ours.sign("127.0.0.1").unwrap();
    let setup = NatsSetup::default().with_tls_for_known_clients(files, &ours.file());
    let Some(server) = setup.start_server().await.unwrap() else { return };
    let machine = || {
        let machine = Machine::new(&encrypted(&server)).with_password(&server);
        machine.with("store.nats.ca_file", ours.file().display())
    };
    let showing = |authority: &Authority| {
        let files = authority.sign("machine.example").unwrap();
        let machine = machine().with("store.nats.certificate_file", files.certificate.display());
        machine.with("store.nats.certificate_key_file", files.key.display())
    };

    showing(&ours).assert_let_in().await;

    machine().assert_refused(&["ask for a certificate", "store.nats.certificate_file and certificate_key_file"]);
    showing(&theirs).assert_refused(&["cannot be", "store.nats.certificate_file has to be signed by"]);
    let files = ours.sign("half.example").unwrap();
    let half = machine().with("store.nats.certificate_file", files.certificate.display());
    half.assert_refused(&["has no key", "store.nats.certificate_key_file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_known_by_its_nkey() {
    let (ours, theirs) = (KeyPair::new_user(), KeyPair::new_user());
    let setup = NatsSetup::default().with_nkey(&ours.public_key());
    let Some(server) = setup.start_server().await.unwrap() else { return };
    let machine = || Machine::new(&server.client_url());
    let seed = |key: &KeyPair| format!("{}\n", key.seed().unwrap());
    let showing = |text: &str| machine().with_secret("store.nats.nkey_file", text);

    showing(&seed(&ours)).assert_let_in().await;

    showing(&seed(&theirs)).assert_refused(&["authorization violation", "store.nats.nkey_file has the seed"]);
    showing("a password\n").assert_refused(&["store.nats.nkey_file has the seed (SU...)"]);
    machine().assert_refused(&["authorization violation", "the servers ask who this is"]);
    let absent = machine().with("store.nats.nkey_file", "/nowhere/seed");
    absent.assert_refused(&["store.nats.nkey_file: /nowhere/seed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credentials_file_opens_its_own_account_and_no_other() {
    let (ours, theirs) = (Operator::new(2).unwrap(), Operator::new(1).unwrap());
    let setup = NatsSetup::default().with_operator(&ours).unwrap();
    let Some(server) = setup.start_server().await.unwrap() else { return };
    let showing =
        |credentials: &str| Machine::new(&server.client_url()).with_secret("store.nats.credentials_file", credentials);

    showing(&ours.credentials(0).unwrap()).assert_let_in().await;

    let beside = showing(&ours.credentials(1).unwrap()).with("store.nats.create", false);
    beside.assert_refused(&["the stream INFOLD does not exist"]);
    let known = "is of an account that the servers know";
    showing(&theirs.credentials(0).unwrap()).assert_refused(&["authorization violation", known]);
    showing("nothing\n").assert_refused(&["credentials", known]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_anybody_can_read_is_warned_of() {
    let Some(server) = NatsServer::start().await.unwrap() else { return };
    let machine = Machine::new(&server.client_url()).with_password(&server);
    let password = machine.folder.join("store.nats.password_file");
    let warning = async |mode: u32| {
        set_mode(&password, mode);
        let set = |setup: DaemonSetup, (name, value): &Setting| setup.set(name, value);
        let daemon = machine.settings.iter().fold(infold(), set).data(machine.folder.join("data")).start().await;
        let said = daemon.unwrap().stderr();
        said.lines().find(|line| line.starts_with("warning: other users can read")).map(str::to_owned)
    };
    assert_eq!(warning(0o640).await, None);
    let said = warning(0o604).await.unwrap();
    assert!(said.contains("(mode 0604); chmod 600 "), "{said}");
}

fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}
