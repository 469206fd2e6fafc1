//! Pictures as PNG, for viewers that cannot show SVG.

use anyhow::{Context, Result};
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// An included font, so that a picture is the same on every machine.
static FONT: &[u8] = include_bytes!("../fonts/DejaVuSansMono.ttf");

/// The picture as PNG.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_monospace_family("DejaVu Sans Mono");
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    // The font has no such dots; a dashed line is the most similar sign that it has.
    let svg = svg.replace('⋮', "┊");
    let tree = usvg::Tree::from_str(&svg, &options).context("the picture is no sound SVG")?;
    let size = tree.size().to_int_size();
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).context("no picture")?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().context("the picture cannot be written as PNG")
}
