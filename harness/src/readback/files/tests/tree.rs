//! Tests of freezing folders and files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use nix::sys::stat::Mode;
use sha2::{Digest, Sha256};

use super::{put, sql, store_of};
use crate::readback::files::walk::{TREE_DEPTH_MAX, TREE_ENTRIES_MAX};
use crate::readback::{FreezeError, FrozenTree, Shape, SqlQuery, Stranger, freeze_tree, query_read_copy};

fn freeze(store: &Path) -> (tempfile::TempDir, FrozenTree) {
    let into = tempfile::tempdir().unwrap();
    let tree = freeze_tree(store, into.path()).unwrap();
    (into, tree)
}

fn names(tree: &FrozenTree) -> Vec<&str> {
    tree.files.iter().map(|file| file.name.as_str()).collect()
}

/// Every path under a folder, with the bytes of files; links are not followed.
fn all(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let bytes = kind.is_file().then(|| fs::read(entry.path()).unwrap());
            found.insert(entry.path().display().to_string(), bytes);
            if kind.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn a_folder_is_copied_with_its_digests_and_left_as_it_was() {
    let store = store_of(&[("a.json", "{}"), ("notes/deep/b.md", "text"), ("notes/empty.txt", "")]);
    fs::create_dir(store.path().join("nothing")).unwrap();
    let before = all(store.path());
    let (into, tree) = freeze(store.path());
    assert_eq!(tree.shape, Shape::Folder);
    assert_eq!(names(&tree), ["a.json", "notes/deep/b.md", "notes/empty.txt"]);
    assert_eq!(
        tree.folders.iter().collect::<Vec<_>>(),
        ["notes", "notes/deep", "nothing"]
    );
    assert_eq!(fs::read(into.path().join("notes/deep/b.md")).unwrap(), b"text");
    assert_eq!(tree.files[1].bytes, 4);
    assert_eq!(
        tree.files[1].sha256,
        base16ct::lower::encode_string(&Sha256::digest("text"))
    );
    assert_eq!(all(store.path()), before);
    let mut again: FrozenTree = serde_json::from_str(&serde_json::to_string(&tree).unwrap()).unwrap();
    assert_eq!(again.root, Path::new(""), "evidence is moved about");
    again.root.clone_from(&tree.root);
    assert_eq!(again, tree);
}

#[test]
fn a_single_file_is_a_store_and_what_stands_beside_it_is_not() {
    let store = store_of(&[("memory.json", "{}"), ("memory.json.3f.tmp", "{")]);
    let (_into, tree) = freeze(&store.path().join("memory.json"));
    assert_eq!((tree.shape, names(&tree)), (Shape::File, vec!["memory.json"]));
}

#[test]
fn what_is_not_there_is_absent() {
    let store = store_of(&[]);
    symlink("nowhere", store.path().join("link")).unwrap();
    for name in ["none", "link"] {
        let (_into, tree) = freeze(&store.path().join(name));
        assert_eq!((tree.shape, tree.files.len()), (Shape::Absent, 0), "{name}");
    }
}

#[test]
fn sqlite_stores_in_a_folder_get_a_read_copy_each() {
    let store = store_of(&[("note.txt", "hello")]);
    fs::create_dir(store.path().join("d")).unwrap();
    sql(
        store.path(),
        "d/app.db",
        "CREATE TABLE t (note TEXT); INSERT INTO t VALUES ('x')",
    );
    put(store.path(), "broken.db", "SQLite format 3\0 and no more");
    put(store.path(), "d/app.db-shm", "a cache");
    let (into, tree) = freeze(store.path());
    assert_eq!(names(&tree), ["broken.db", "d/app.db", "note.txt"]);
    let [broken, app] = tree.databases.as_slice() else {
        panic!("{:?}", tree.databases)
    };
    assert_eq!((broken.name.as_str(), &broken.read_copy), ("broken.db", &None));
    assert!(broken.problem.is_some());
    assert_eq!(app.read_copy.as_deref(), Some("d/app.db.read.sqlite3"));
    let copy = into.path().join(app.read_copy.as_ref().unwrap());
    assert_eq!(
        query_read_copy(&copy, &SqlQuery::new("SELECT * FROM t", []))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn links_pipes_sockets_and_odd_names_are_named_and_never_opened() {
    let outside = store_of(&[("secret", "mk-1")]);
    let store = store_of(&[("a.txt", "a"), ("line\nfeed", "x")]);
    symlink(outside.path(), store.path().join("folder-link")).unwrap();
    symlink("a.txt", store.path().join("file-link")).unwrap();
    symlink(".", store.path().join("loop")).unwrap();
    nix::unistd::mkfifo(&store.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(store.path().join("socket")).unwrap();
    let (into, tree) = freeze(store.path());
    assert_eq!(names(&tree), ["a.txt"]);
    let expected = [
        ("file-link", Stranger::Link),
        ("folder-link", Stranger::Link),
        ("line\u{FFFD}feed", Stranger::Name),
        ("loop", Stranger::Link),
        ("pipe", Stranger::Pipe),
        ("socket", Stranger::Socket),
    ];
    let strangers: Vec<(&str, Stranger)> = tree
        .strangers
        .iter()
        .map(|(name, kind)| (name.as_str(), *kind))
        .collect();
    assert_eq!(strangers, expected);
    assert_eq!(all(into.path()).len(), 1);
}

#[test]
fn a_store_beyond_a_bound_is_refused_by_name() {
    let store = store_of(&[]);
    let mut deep = store.path().to_owned();
    for _ in 0..=TREE_DEPTH_MAX {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    let into = tempfile::tempdir().unwrap();
    let error = freeze_tree(store.path(), into.path()).unwrap_err();
    assert!(matches!(error, FreezeError::TooDeep { .. }), "{error}");

    let store = store_of(&[]);
    for index in 0..=TREE_ENTRIES_MAX {
        fs::write(store.path().join(index.to_string()), "").unwrap();
    }
    let error = freeze_tree(store.path(), into.path()).unwrap_err();
    assert!(matches!(error, FreezeError::TooManyEntries { .. }), "{error}");

    // Sparse, so that it costs nothing.
    let store = store_of(&[]);
    let large = fs::File::create(store.path().join("large")).unwrap();
    large.set_len(4 * 1024 * 1024 * 1024 + 1).unwrap();
    let error = freeze_tree(store.path(), into.path()).unwrap_err();
    assert!(matches!(error, FreezeError::TooLarge { .. }), "{error}");
}

#[test]
fn copies_do_not_go_into_the_store_nor_over_anything() {
    let store = store_of(&[("a.txt", "a")]);
    let error = freeze_tree(store.path(), &store.path().join("evidence")).unwrap_err();
    assert!(matches!(error, FreezeError::Inside { .. }), "{error}");
    let into = store_of(&[("a.txt", "mine")]);
    let error = freeze_tree(&store.path().join("a.txt"), into.path()).unwrap_err();
    assert!(matches!(error, FreezeError::File { act: "create", .. }), "{error}");
    assert_eq!(fs::read(into.path().join("a.txt")).unwrap(), b"mine");
}

#[test]
fn what_changes_while_it_is_copied_is_an_error() {
    let store = store_of(&[("a.txt", &"0".repeat(1 << 20))]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let path = store.path().join("a.txt");
    let moved = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Always of the same length, so that only its bytes tell.
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            for round in (1..10_u64).cycle() {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                file.write_all_at(round.to_string().as_bytes(), 0).unwrap();
            }
        });
        let moved = (0..1_000).any(|_| {
            let into = tempfile::tempdir().unwrap();
            matches!(freeze_tree(store.path(), into.path()), Err(FreezeError::Moved { .. }))
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        moved
    });
    assert!(moved);
}
