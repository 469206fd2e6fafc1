//! The contents of the screen in the formats of other programs: text, SVG, and asciicast
//! (version 2, as asciinema records terminals).

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Style};
use std::time::Duration;

/// The screen as text, without blanks at the ends of lines.
#[must_use]
pub(super) fn text(screen: &Buffer) -> String {
    let rows = rows(screen).map(|row| {
        let line: String = row.iter().map(|(symbol, _)| *symbol).collect();
        line.trim_end().to_owned() + "\n"
    });
    rows.collect()
}

/// The screen as a picture.
#[must_use]
pub(super) fn svg(screen: &Buffer) -> String {
    anstyle_svg::Term::new().render_svg(&painted(screen, "\n"))
}

/// The first line of an asciicast.
#[must_use]
pub(super) fn cast_header(screen: &Buffer) -> String {
    let header = serde_json::json!({
        "version": 2, "width": screen.area.width, "height": screen.area.height,
        "title": "heddle ui",
    });
    format!("{header}\n")
}

/// A line of an asciicast: the whole screen, as it was drawn at this time.
#[must_use]
pub(super) fn cast_frame(screen: &Buffer, at: Duration) -> String {
    // Without an end of line behind the last row, which would scroll the screen.
    let painted = format!("\x1b[H{}", painted(screen, "\r\n").trim_end_matches("\r\n"));
    format!("{}\n", serde_json::json!([at.as_secs_f64(), "o", painted]))
}

/// A line of an asciicast: the terminal has another size from this time on.
#[must_use]
pub(super) fn cast_resize(screen: &Buffer, at: Duration) -> String {
    let size = format!("{}x{}", screen.area.width, screen.area.height);
    format!("{}\n", serde_json::json!([at.as_secs_f64(), "r", size]))
}

/// The symbols of each row with their styles.
fn rows(screen: &Buffer) -> impl Iterator<Item = Vec<(&str, Style)>> {
    let area = screen.area;
    area.rows().map(move |row| {
        let mut cells = Vec::new();
        let mut skipped = 0;
        for position in row.positions() {
            let cell = &screen[position];
            // A wide character takes the cells behind it, too.
            if skipped == 0 {
                cells.push((cell.symbol(), cell.style()));
                skipped = crate::report::text::width(cell.symbol());
            }
            skipped = skipped.saturating_sub(1);
        }
        cells
    })
}

/// The screen as text with the control sequences of its styles.
fn painted(screen: &Buffer, end: &str) -> String {
    let mut text = String::new();
    for row in rows(screen) {
        let mut last = anstyle::Style::new();
        for (symbol, style) in row {
            let style = anstyle::Style::from(own_colors(style));
            if style != last {
                text += &format!("{last:#}{style}");
                last = style;
            }
            text += symbol;
        }
        text += &format!("{last:#}{end}");
    }
    text
}

/// The style without the terminal's default colours, which need no control sequence.
fn own_colors(style: Style) -> Style {
    let own = |color: Option<Color>| color.filter(|&color| color != Color::Reset);
    let modifier = style.add_modifier;
    Style { fg: own(style.fg), bg: own(style.bg), ..Style::new().add_modifier(modifier) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Modifier;

    fn screen() -> Buffer {
        let mut screen = Buffer::empty(Rect::new(0, 0, 12, 2));
        let bad = Style::new().fg(Color::Rgb(240, 98, 98)).add_modifier(Modifier::BOLD);
        screen.set_string(0, 0, "T1 ", Style::new().fg(Color::Cyan));
        screen.set_string(3, 0, "<日>", bad);
        screen.set_string(0, 1, "passes", Style::new());
        screen
    }

    #[test]
    fn each_format_has_the_text_of_the_screen() {
        let screen = screen();
        assert_eq!(text(&screen), "T1 <日>\npasses\n");
        let picture = svg(&screen);
        assert!(picture.starts_with("<svg") && picture.contains("passes"), "{picture}");
        assert!(picture.contains("&lt;日&gt;"), "markup is escaped: {picture}");
        assert!(picture.contains("#F06262"), "{picture}");
    }

    #[test]
    fn an_asciicast_draws_the_same_screen() {
        let screen = screen();
        let header: serde_json::Value =
            serde_json::from_str(&cast_header(&screen)).expect("a line of JSON");
        assert_eq!((&header["version"], &header["width"]), (&2.into(), &12.into()));
        let frame = cast_frame(&screen, Duration::from_millis(1500));
        let frame: serde_json::Value = serde_json::from_str(&frame).expect("a line of JSON");
        assert_eq!((&frame[0], &frame[1]), (&1.5.into(), &"o".into()));
        let mut terminal =
            vt100::Parser::new(2.try_into().expect("2"), 12.try_into().expect("12"), 0);
        terminal.process(frame[2].as_str().expect("text").as_bytes());
        let shown = terminal.screen().contents();
        let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(shown, ["T1 <日>", "passes"]);
        let resized = cast_resize(&screen, Duration::ZERO);
        assert_eq!(resized, "[0.0,\"r\",\"12x2\"]\n");
    }
}
