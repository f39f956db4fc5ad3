//! A frozen store in the evidence, and a second read copy of it that verifying makes itself.
//!
//! Must not believe what an observation says of its files: sizes and digests are compared with those of the inventory, which
//! files are SQLite stores is looked at again, and read copies are recovered anew from the frozen bytes. Must not write into
//! the evidence: what is recovered lies in a temporary folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use tempfile::TempDir;

use crate::readback::{self, FROZEN_BYTES_MAX, FrozenTree, Shape};
use crate::record::{Evidence, FileSeen};

/// Every file of the evidence, as the inventory has just seen it.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) seen: &'a BTreeMap<String, FileSeen>,
}

/// A frozen store, twice.
pub(super) struct Stores {
    /// With the read copies of the evidence, which a reviewer asks by hand.
    pub(super) stored: FrozenTree,
    /// With read copies of our own.
    pub(super) own: FrozenTree,
    /// The read copies that have other bytes than our own.
    pub(super) other_copies: Vec<String>,
    /// Holds our own read copies.
    _folder: TempDir,
}

impl Files<'_> {
    /// Looks at the store that a file of the evidence lists, in its folder, and recovers its databases once more.
    pub(super) fn store(self, folder: &Path, listed: &FrozenTree) -> Result<Stores, String> {
        let inside = folder.strip_prefix(self.evidence.root()).unwrap_or(folder);
        let prefix = format!("{}/", inside.display());
        let mut stored = listed.clone();
        stored.root = folder.to_path_buf();
        self.refuse_other_files(&stored, &prefix)?;
        refuse_other_databases(&stored)?;
        let own_folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
        let (mut own, mut other_copies) = (stored.clone(), Vec::new());
        for (number, database) in own.databases.iter_mut().enumerate() {
            let (into, name) = name_in(folder, &database.name);
            let copy = own_folder.path().join(format!("{number}.sqlite3"));
            let recovered = readback::recover(&into, name, &copy);
            let problem = recovered.map_err(|error| format!("recover {}: {error}", database.name))?;
            match (&database.read_copy, problem) {
                (None, Some(_)) => {}
                (Some(_), Some(problem)) => return Err(format!("{} cannot be recovered: {problem}", database.name)),
                (None, None) => return Err(format!("{} can be recovered, and has no read copy", database.name)),
                (Some(stored), None) => {
                    let now =
                        crate::digest::sha256_file(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
                    let then = self.seen.get(&format!("{prefix}{stored}"));
                    if then.is_none_or(|then| then.sha256 != now) {
                        other_copies.push(stored.clone());
                    }
                    // An absolute path, so that it does not lead into the evidence.
                    database.read_copy = Some(copy.display().to_string());
                }
            }
        }
        Ok(Stores {
            stored,
            own,
            other_copies,
            _folder: own_folder,
        })
    }

    /// Every file that is listed has to be there, with that size and digest, and none that the list is silent about.
    fn refuse_other_files(self, tree: &FrozenTree, prefix: &str) -> Result<(), String> {
        let mut named = BTreeSet::new();
        let mut bytes = 0_u64;
        for file in &tree.files {
            if !named.insert(file.name.as_str()) {
                return Err(format!("{:?} is listed twice", file.name));
            }
            bytes = bytes.saturating_add(file.bytes);
        }
        for database in &tree.databases {
            let usual = format!("{}.read.sqlite3", database.name);
            if let Some(copy) = &database.read_copy
                && (*copy != usual || !named.insert(copy.as_str()))
            {
                return Err(format!("{copy:?} is no read copy of {:?}", database.name));
            }
        }
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        if let Some(name) = named.iter().find(|name| !Path::new(name).components().all(is_inside)) {
            return Err(format!("{name:?} lies outside {prefix}"));
        }
        if bytes > FROZEN_BYTES_MAX {
            return Err(format!(
                "its files have more than the {FROZEN_BYTES_MAX} bytes that are ever frozen"
            ));
        }
        let there = self.seen.range(prefix.to_owned()..);
        let there = there.map_while(|(path, _)| path.strip_prefix(prefix));
        let there: BTreeSet<&str> = there.collect();
        if let Some(odd) = named.symmetric_difference(&there).next() {
            return Err(format!("{odd:?} is in only one of its list of files and {prefix}"));
        }
        for file in &tree.files {
            let seen = &self.seen[&format!("{prefix}{}", file.name)];
            if (seen.bytes, &seen.sha256) != (file.bytes, &file.sha256) {
                return Err(format!(
                    "{:?} has another size or digest than its list of files says",
                    file.name
                ));
            }
        }
        Ok(())
    }
}

/// Which files are SQLite stores is seen in their bytes.
fn refuse_other_databases(tree: &FrozenTree) -> Result<(), String> {
    let mut found = BTreeSet::new();
    for file in &tree.files {
        let is_one = readback::is_sqlite(&tree.root.join(&file.name));
        if is_one.map_err(|error| format!("{:?}: {error}", file.name))? {
            found.insert(file.name.as_str());
        }
    }
    let listed: Vec<&str> = tree.databases.iter().map(|database| database.name.as_str()).collect();
    if listed != found.into_iter().collect::<Vec<&str>>() {
        return Err("its SQLite files are others than those in its list of files".to_owned());
    }
    let fits = match tree.shape {
        Shape::Absent => tree.files.is_empty(),
        Shape::File => tree.files.iter().all(|file| !file.name.contains('/')),
        Shape::Folder => true,
    };
    if fits {
        Ok(())
    } else {
        Err("its files are not those of a store of its shape".to_owned())
    }
}

/// The folder and the name of a file that lies below one.
fn name_in<'n>(folder: &Path, name: &'n str) -> (std::path::PathBuf, &'n str) {
    match name.rsplit_once('/') {
        Some((inside, name)) => (folder.join(inside), name),
        None => (folder.to_path_buf(), name),
    }
}
