//! The list of searches at a server.

use crate::protocol::{Announcement, State};
use crate::server::{Failure, Server};
use futures_util::StreamExt;
use replay_core::Error;
use std::collections::BTreeMap;

/// The announcement of a search, if there is one.
pub(crate) fn announced(server: &Server, name: &str) -> Result<Option<Announcement>, Error> {
    let store = server.searches()?;
    let bytes = server.request("cannot read the list of searches", async || {
        store.get(name).await.map_err(|error| Failure::Passing(error.to_string()))
    })?;
    let parse = |bytes: &[u8]| Announcement::parse(name, bytes).map_err(Error::Usage);
    bytes.as_deref().map(parse).transpose()
}

/// Announces a search, or its new state.
pub(crate) fn announce(server: &Server, announcement: &Announcement) -> Result<(), Error> {
    let store = server.searches()?;
    let bytes = serde_json::to_vec(announcement).unwrap_or_default();
    server.request("cannot announce the search", async || {
        let put = store.put(&announcement.name, bytes.clone().into()).await;
        put.map(drop).map_err(|error| Failure::Passing(error.to_string()))
    })
}

/// Ends a search at the server.
pub(crate) fn finish(server: &Server, name: &str, state: State) -> Result<(), Error> {
    if let Some(announcement) = announced(server, name)? {
        announce(server, &Announcement { state, ..announcement })?;
    }
    Ok(())
}

/// The searches at a server, by name; the error of one whose announcement cannot be read.
pub(crate) fn list(
    server: &Server,
) -> Result<BTreeMap<String, Result<Announcement, String>>, Error> {
    let store = server.searches()?;
    server.request("cannot read the list of searches", async || {
        let failure = |text: String| Failure::Passing(text);
        let mut found = BTreeMap::new();
        let mut names = store.keys().await.map_err(|error| failure(error.to_string()))?;
        while let Some(name) = names.next().await {
            let name = name.map_err(|error| failure(error.to_string()))?;
            let entry = store.get(&name).await.map_err(|error| failure(error.to_string()))?;
            if let Some(bytes) = entry {
                found.insert(name.clone(), Announcement::parse(&name, &bytes));
            }
        }
        Ok(found)
    })
}
