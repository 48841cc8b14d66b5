//! Charts as PNG and PDF.

use crate::args::lab::ChartFormat;
use crate::failure::Failure;
use crate::outfile;
use cygnus_lab::{Chart, Painter, PictureFormat};
use std::path::Path;

/// What is drawn besides SVG.
pub(super) struct Pictures {
    formats: Vec<PictureFormat>,
    /// Who draws it; nobody if nothing is.
    painter: Option<Painter>,
}

impl Pictures {
    /// Fails before anything is run if nothing can be drawn.
    pub fn new(charts: &[ChartFormat]) -> Result<Self, Failure> {
        let formats: Vec<_> = charts.iter().filter_map(|chart| chart.picture()).collect();
        let painter = (!formats.is_empty()).then(Painter::new).transpose().map_err(Failure::of)?;
        Ok(Self { formats, painter })
    }

    /// Draws the charts of an experiment into its directory. What an earlier run has drawn and this one does not goes away: it
    /// shows other results.
    pub fn leave(&self, dir: &Path, charts: &[Chart]) -> Result<(), Failure> {
        for chart in charts {
            for format in PictureFormat::ALL {
                let path = dir.join(format!("{}.{}", chart.name, format.extension()));
                match self.painter.as_ref().filter(|_| self.formats.contains(&format)) {
                    Some(painter) => outfile::write(&path, painter.paint(chart, format).map_err(Failure::of)?)?,
                    None => outfile::remove(&path)?,
                }
            }
        }
        Ok(())
    }
}
