//! The planted defects of the reference server that this binary carries.

use crate::matrix::Planted;

/// All of them, with what must notice each.
#[cfg(feature = "reference-server")]
pub(super) fn planted() -> Result<Vec<Planted>, String> {
    use reference_server::defect::Defect;

    let of = |defect: &Defect| {
        let kills = defect.killed_by().iter().map(|kill| kill.parse());
        Ok(Planted {
            name: defect.name().to_owned(),
            says: defect.description().to_owned(),
            kills: kills.collect::<Result<_, String>>()?,
        })
    };
    Defect::ALL.iter().map(of).collect()
}

/// None.
#[cfg(not(feature = "reference-server"))]
pub(super) fn planted() -> Result<Vec<Planted>, String> {
    Err(
        "this build carries no reference server; name a server with --target, and its defects with --defects"
            .to_owned(),
    )
}
