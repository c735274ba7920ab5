//! What a campaign has measured.

use serde::Serialize;

use crate::modes::{Drawn, View};
use crate::rounds::Summary;

/// A mode's figures, one summary for each of its views.
#[derive(Serialize)]
pub(crate) struct ModeResult {
    pub(crate) mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<String>,
    pub(crate) ranks: u32,
    pub(crate) views: Vec<ViewResult>,
    #[serde(skip)]
    pub(crate) title: String,
    #[serde(skip)]
    pub(crate) drawn: &'static [Drawn],
}

/// One view of them.
#[derive(Serialize)]
pub(crate) struct ViewResult {
    pub(crate) view: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) more_is_better: bool,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    #[serde(skip)]
    pub(crate) of: &'static View,
}
