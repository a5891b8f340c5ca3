//! Offloaded results: compressed, and each content stored once per owner.

use infold_core::{BlobId, BranchId, Owner};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::codec::{pack, unpack_text};
use crate::load::session_key;
use crate::{NewBlob, SessionKey, Store, StoreError};

/// An offloaded result, as it is stored.
#[derive(Debug, Clone)]
pub struct Blob {
    /// The session whose model the result was for.
    pub session: SessionKey,
    /// The branch that the result was seen in; `None` for the main thread.
    pub branch: Option<BranchId>,
    /// The name of the tool that gave the result.
    pub tool_name: String,
    /// The whole result, with secrets taken out.
    pub content: String,
}

pub(crate) fn insert(transaction: &Transaction<'_>, key: &str, owner: &str, blob: &NewBlob) -> Result<(), StoreError> {
    let content = blob.content.as_str().as_bytes();
    // The owner is part of the hash, so that nobody can find out that somebody else has the same content.
    let mut hasher = blake3::Hasher::new();
    hasher.update(owner.as_bytes()).update(b"/").update(content);
    let hash: [u8; 32] = hasher.finalize().into();

    let known = transaction.prepare_cached("SELECT 1 FROM blob_contents WHERE hash = ?1")?.exists([hash])?;
    if !known {
        transaction
            .prepare_cached("INSERT INTO blob_contents (hash, content) VALUES (?1, ?2)")?
            .execute(params![hash, pack(content)?])?;
    }
    transaction
        .prepare_cached(
            "INSERT INTO tool_result_blobs (id, session_id, tool_name, content, byte_size, branch)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            blob.id.as_str(),
            key,
            blob.tool_name.as_str(),
            hash,
            content.len(),
            blob.branch.as_ref().map(BranchId::as_str)
        ])?;
    Ok(())
}

/// An offloaded result of a session, for a search through all of them.
#[derive(Debug, Clone)]
pub struct SessionBlob {
    /// Its handle.
    pub id: BlobId,
    /// The branch that it was seen in; `None` for the main thread.
    pub branch: Option<BranchId>,
    /// The whole result, with secrets taken out.
    pub content: String,
}

impl Store {
    /// Reads one offloaded result of a session: the newest that is left if so many are passed over.
    pub async fn nth_blob(&self, key: SessionKey, passed_over: usize) -> Result<Option<SessionBlob>, StoreError> {
        self.read(move |transaction| {
            let found = transaction
                .prepare_cached(
                    "SELECT tool_result_blobs.id, branch, blob_contents.content
                     FROM tool_result_blobs
                     JOIN sessions ON sessions.id = session_id
                     JOIN blob_contents ON hash = tool_result_blobs.content
                     WHERE sessions.owner = ?1 AND sessions.name = ?2
                     ORDER BY tool_result_blobs.rowid DESC LIMIT 1 OFFSET ?3",
                )?
                .query_row(params![key.owner.as_str(), key.id.as_str(), passed_over], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Vec<u8>>(2)?))
                })
                .optional()?;
            let Some((id, branch, packed)) = found else { return Ok(None) };
            let Some(id) = BlobId::parse(&id) else { return Ok(None) };
            Ok(Some(SessionBlob { id, branch: branch.map(BranchId::from_stored), content: unpack_text(&packed)? }))
        })
        .await
    }

    /// Reads an offloaded result; `None` if this owner has none with that id.
    pub async fn blob(&self, owner: Owner, id: BlobId) -> Result<Option<Blob>, StoreError> {
        self.fresh().await?;
        self.read(move |transaction| {
            let found = transaction
                .prepare_cached(
                    "SELECT sessions.owner, sessions.name, branch, tool_name, blob_contents.content
                     FROM tool_result_blobs
                     JOIN sessions ON sessions.id = session_id
                     JOIN blob_contents ON hash = tool_result_blobs.content
                     WHERE tool_result_blobs.id = ?1 AND sessions.owner = ?2",
                )?
                .query_row(params![id.as_str(), owner.as_str()], |row| {
                    let session: (String, String) = (row.get(0)?, row.get(1)?);
                    let branch: Option<String> = row.get(2)?;
                    let packed: Vec<u8> = row.get(4)?;
                    Ok((session, branch, row.get::<_, String>(3)?, packed))
                })
                .optional()?;
            let Some((session, branch, tool_name, packed)) = found else { return Ok(None) };
            Ok(Some(Blob {
                session: session_key(session)?,
                branch: branch.map(BranchId::from_stored),
                tool_name,
                content: unpack_text(&packed)?,
            }))
        })
        .await
    }
}
