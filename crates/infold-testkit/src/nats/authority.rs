//! Certificates of a test's own: an authority that nobody else knows, and what it signs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::TempFolder;

/// An authority that signs certificates. What it signs is gone when it is dropped.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempFolder,
}

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// A new one, with a key of its own.
    pub fn new() -> Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "the test's authority");
        let key = KeyPair::generate()?;
        let folder = TempFolder::new()?;
        write_pem(&folder.join("authority.pem"), "CERTIFICATE", params.self_signed(&key)?.der())?;
        Ok(Self { issuer: Issuer::new(params, key), folder })
    }

    /// The file that others check certificates by.
    pub fn file(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// Signs a certificate for a host.
    pub fn sign(&self, host: &str) -> Result<CertificateFiles> {
        let key = KeyPair::generate()?;
        let signed = CertificateParams::new([host.to_owned()])?.signed_by(&key, &self.issuer)?;
        let path = |ending: &str| self.folder.join(&format!("{host}{ending}"));
        let files = CertificateFiles { certificate: path(".pem"), key: path("-key.pem") };
        write_pem(&files.certificate, "CERTIFICATE", signed.der())?;
        write_pem(&files.key, "PRIVATE KEY", &key.serialize_der())?;
        Ok(files)
    }
}

fn write_pem(file: &Path, what: &str, bytes: &[u8]) -> Result<()> {
    let text = STANDARD.encode(bytes);
    let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
    std::fs::write(file, format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n")))?;
    Ok(())
}
