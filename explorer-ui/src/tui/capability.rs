//! What the terminal can display, from the environment: colours and characters.

use super::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Style};

/// How many colours the terminal displays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorDepth {
    /// 24-bit colours.
    True,
    /// The 256 colours of xterm.
    Indexed,
    /// The 16 colours of ANSI.
    Sixteen,
    /// None.
    Monochrome,
}

/// An environment variable, or none if it is unset or empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl ColorDepth {
    /// The depth according to `COLORTERM` and `TERM`.
    #[must_use]
    pub fn detect(variable: &dyn Fn(&str) -> Option<String>) -> ColorDepth {
        if let Some("truecolor" | "24bit") = variable("COLORTERM").as_deref() {
            return ColorDepth::True;
        }
        match variable("TERM").unwrap_or_default().as_str() {
            "" | "dumb" => ColorDepth::Monochrome,
            term if term.starts_with("vt") => ColorDepth::Monochrome,
            term if term.ends_with("-direct") => ColorDepth::True,
            term if term.contains("256color") => ColorDepth::Indexed,
            _ => ColorDepth::Sixteen,
        }
    }

    /// The theme to use instead of the default one.
    #[must_use]
    pub fn default_theme(self) -> Theme {
        match self {
            ColorDepth::True | ColorDepth::Indexed => Theme::Dark,
            ColorDepth::Sixteen => Theme::Sixteen,
            ColorDepth::Monochrome => Theme::Plain,
        }
    }

    /// Replaces the colours that the terminal cannot display by the nearest ones that it can.
    pub(super) fn reduce(self, buffer: &mut Buffer) {
        if self == ColorDepth::True {
            return;
        }
        for cell in &mut buffer.content {
            let style = Style::new().fg(self.nearest(cell.fg)).bg(self.nearest(cell.bg));
            cell.set_style(style);
        }
    }

    fn nearest(self, color: Color) -> Color {
        match (self, color) {
            (ColorDepth::Monochrome, _) => Color::Reset,
            (ColorDepth::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(indexed((r, g, b))),
            (ColorDepth::Sixteen, Color::Rgb(r, g, b)) => sixteen((r, g, b)),
            (_, other) => other,
        }
    }
}

type Rgb = (u8, u8, u8);

fn distance(a: Rgb, b: Rgb) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)
}

/// The nearest of xterm's colours 16 to 255: a cube of 6 levels and 24 greys.
fn indexed(color: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let value = |index: u8| match index {
        16..=231 => {
            let at = usize::from(index - 16);
            (LEVELS[at / 36], LEVELS[at / 6 % 6], LEVELS[at % 6])
        }
        _ => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    };
    (16..=255).min_by_key(|&index| distance(color, value(index))).unwrap_or(16)
}

/// The nearest of the 16 ANSI colours, as xterm displays them.
fn sixteen(color: Rgb) -> Color {
    const COLORS: [(Rgb, Color); 16] = [
        ((0, 0, 0), Color::Black),
        ((205, 0, 0), Color::Red),
        ((0, 205, 0), Color::Green),
        ((205, 205, 0), Color::Yellow),
        ((0, 0, 238), Color::Blue),
        ((205, 0, 205), Color::Magenta),
        ((0, 205, 205), Color::Cyan),
        ((229, 229, 229), Color::Gray),
        ((127, 127, 127), Color::DarkGray),
        ((255, 0, 0), Color::LightRed),
        ((0, 255, 0), Color::LightGreen),
        ((255, 255, 0), Color::LightYellow),
        ((92, 92, 255), Color::LightBlue),
        ((255, 0, 255), Color::LightMagenta),
        ((0, 255, 255), Color::LightCyan),
        ((255, 255, 255), Color::White),
    ];
    let nearest = COLORS.iter().min_by_key(|(known, _)| distance(color, *known));
    nearest.map_or(Color::Reset, |&(_, color)| color)
}

/// Whether the locale's character set is not UTF-8. Without any locale UTF-8 is assumed: containers
/// often set none, and terminals display UTF-8.
#[must_use]
pub fn needs_ascii(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| set.iter().find(|(known, _)| *known == name).map(|(_, it)| (*it).to_owned())
    }

    #[test]
    fn colours_follow_what_the_terminal_can_display() {
        for (set, depth) in [
            (&[("COLORTERM", "truecolor"), ("TERM", "xterm")][..], ColorDepth::True),
            (&[("TERM", "xterm-direct")], ColorDepth::True),
            (&[("TERM", "xterm-256color")], ColorDepth::Indexed),
            (&[("TERM", "linux")], ColorDepth::Sixteen),
            (&[("TERM", "vt100")], ColorDepth::Monochrome),
            (&[("TERM", "dumb")], ColorDepth::Monochrome),
            (&[], ColorDepth::Monochrome),
        ] {
            assert_eq!(ColorDepth::detect(&with(set)), depth, "{set:?}");
        }
    }

    #[test]
    fn no_colour_is_sent_that_the_terminal_cannot_display() {
        let rgb = Color::Rgb(240, 98, 98);
        assert_eq!(ColorDepth::True.nearest(rgb), rgb);
        assert_eq!(ColorDepth::Indexed.nearest(rgb), Color::Indexed(203));
        assert_eq!(ColorDepth::Indexed.nearest(Color::Rgb(130, 137, 151)), Color::Indexed(245));
        assert_eq!(ColorDepth::Sixteen.nearest(rgb), Color::DarkGray);
        assert_eq!(ColorDepth::Sixteen.nearest(Color::Rgb(250, 20, 20)), Color::LightRed);
        assert_eq!(ColorDepth::Monochrome.nearest(rgb), Color::Reset);
        assert_eq!(ColorDepth::Sixteen.nearest(Color::Reset), Color::Reset);
    }

    #[test]
    fn a_locale_without_utf_8_gets_ascii() {
        assert!(needs_ascii(&with(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")])));
        assert!(needs_ascii(&with(&[("LANG", "POSIX")])));
        assert!(!needs_ascii(&with(&[("LC_ALL", "C.UTF-8")])));
        assert!(!needs_ascii(&with(&[("LANG", "de_DE.utf8")])));
        assert!(!needs_ascii(&with(&[])));
    }
}
