//! Only what changed is written to a terminal. What stands there then is what a screen that is drawn
//! whole would be.

use super::{any_event, model, samples};
use crate::app::model::Model;
use crate::app::render;
use crate::app::update::{Event, update};
use proptest::prelude::*;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::cell::RefCell;
use std::io::Write;
use std::num::NonZero;
use std::rc::Rc;

/// A terminal with an emulator behind it.
#[derive(Clone)]
struct Emulator(Rc<RefCell<vt100::Parser>>);

impl Write for Emulator {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().process(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("a screen has cells")
}

/// What an emulator shows, cell by cell: nobody sees of what colour or weight a blank is.
fn shown(emulator: &Emulator) -> Vec<Vec<String>> {
    let parser = emulator.0.borrow();
    let (rows, cols) = parser.screen().size();
    let cell = |row, col| {
        let cell = parser.screen().cell(row, col).expect("it is on the screen");
        let behind = if cell.inverse() { cell.fgcolor() } else { cell.bgcolor() };
        match cell.contents().trim() {
            "" => format!("{behind:?}"),
            text => {
                let front = if cell.inverse() { cell.bgcolor() } else { cell.fgcolor() };
                format!("{text} {front:?} {behind:?} {} {}", cell.bold(), cell.dim())
            }
        }
    };
    let row = |row| (0..cols.get()).map(|col| cell(row, col)).collect();
    (0..rows.get()).map(row).collect()
}

fn screen((width, height): (u16, u16)) -> (Emulator, Terminal<CrosstermBackend<Emulator>>) {
    let parser = vt100::Parser::new(cells(height), cells(width), 0);
    let emulator = Emulator(Rc::new(RefCell::new(parser)));
    let viewport = Viewport::Fixed(Rect { x: 0, y: 0, width, height });
    let backend = CrosstermBackend::new(emulator.clone());
    let terminal = Terminal::with_options(backend, TerminalOptions { viewport });
    (emulator, terminal.expect("a screen in memory"))
}

fn draw(model: &Model, terminal: &mut Terminal<CrosstermBackend<Emulator>>) {
    terminal.draw(|frame| render::draw(model, frame)).expect("it is drawn");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_drawn_by_and_by_is_what_would_be_drawn_at_once(
        events in prop::collection::vec(any_event(), 1..40),
        size in (1u16..220, 1u16..70),
    ) {
        let mut model = model(samples::deadlock(), size.0, size.1);
        let (emulator, mut terminal) = screen(size);
        for event in events {
            // A resize draws everything anyway; of how wide rare letters are emulators think differently.
            let rare = matches!(&event, Event::Paste(text) if !text.is_ascii());
            if !rare && !matches!(event, Event::Resize(..)) {
                update(&mut model, event);
                draw(&model, &mut terminal);
            }
        }
        let (at_once, mut whole) = screen(size);
        draw(&model, &mut whole);
        prop_assert_eq!(shown(&emulator), shown(&at_once));
    }
}
