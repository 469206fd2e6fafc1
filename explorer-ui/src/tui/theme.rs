//! Colours. No information is conveyed by colour alone, so that every theme has the same content.

use ratatui::style::{Color, Modifier, Style};
use replay_core::source::Colour;
use traces::TaskId;

/// A set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// For dark terminals.
    Dark,
    /// For light terminals.
    Light,
    /// Bright on black, no half tones.
    Contrast,
    /// The terminal's own sixteen colours.
    Sixteen,
    /// No colours at all.
    Plain,
}

/// The role of an element on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// A heading.
    Title,
    /// Secondary text.
    Dim,
    /// A failure, a preemption, a lock in a cycle.
    Bad,
    /// Something that went well.
    Good,
    /// Something to notice.
    Notice,
    /// The colour of a task.
    Task(TaskId),
    /// The selected row.
    Selected,
    /// The lines between panes.
    Border,
    /// A key in a hint.
    Key,
    /// The name of an object that several tasks use, in source code.
    Shared,
    /// Source code, coloured by syntax.
    Syntax(Colour),
}

impl Theme {
    /// All themes, in the order in which a key cycles through them.
    pub const ALL: [Theme; 5] =
        [Theme::Dark, Theme::Light, Theme::Contrast, Theme::Sixteen, Theme::Plain];

    /// The name in the preferences.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Theme::Dark => "dark",
            Theme::Light => "light",
            Theme::Contrast => "contrast",
            Theme::Sixteen => "16",
            Theme::Plain => "plain",
        }
    }

    /// The theme with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// The theme after this one.
    #[must_use]
    pub fn next(self) -> Theme {
        let at = Theme::ALL.iter().position(|&theme| theme == self).unwrap_or(0);
        Theme::ALL[(at + 1) % Theme::ALL.len()]
    }

    /// The style of a role.
    #[must_use]
    pub fn style(self, role: Role) -> Style {
        let plain = Style::new();
        if let Role::Selected = role {
            return match self {
                Theme::Dark => bold(plain.bg(Color::Rgb(48, 54, 72))),
                Theme::Light => bold(plain.bg(Color::Rgb(221, 230, 245))),
                _ => plain.add_modifier(Modifier::REVERSED),
            };
        }
        let style = match self.color(role) {
            Some(color) if self != Theme::Plain => plain.fg(color),
            _ => plain,
        };
        match role {
            Role::Title | Role::Bad | Role::Key => style.add_modifier(Modifier::BOLD),
            Role::Shared => style.add_modifier(Modifier::UNDERLINED),
            Role::Dim | Role::Border if self == Theme::Plain => style.add_modifier(Modifier::DIM),
            _ => style,
        }
    }

    fn color(self, role: Role) -> Option<Color> {
        let pick = |dark: (u8, u8, u8), light: (u8, u8, u8), contrast, sixteen| {
            Some(match self {
                Theme::Dark => Color::Rgb(dark.0, dark.1, dark.2),
                Theme::Light => Color::Rgb(light.0, light.1, light.2),
                Theme::Contrast => contrast,
                Theme::Sixteen | Theme::Plain => sixteen,
            })
        };
        match role {
            Role::Text | Role::Title | Role::Selected => match self {
                Theme::Contrast => Some(Color::White),
                _ => None,
            },
            Role::Dim => pick((130, 137, 151), (110, 115, 125), Color::Gray, Color::DarkGray),
            Role::Border => pick((75, 82, 99), (190, 195, 205), Color::White, Color::DarkGray),
            Role::Bad => pick((240, 98, 98), (190, 30, 30), Color::LightRed, Color::Red),
            Role::Good => pick((126, 200, 120), (30, 120, 50), Color::LightGreen, Color::Green),
            Role::Notice | Role::Shared => {
                pick((230, 190, 90), (150, 95, 0), Color::LightYellow, Color::Yellow)
            }
            Role::Key => pick((122, 178, 255), (20, 90, 190), Color::LightCyan, Color::Cyan),
            // Less prominent than everything that describes the schedule.
            Role::Syntax(Colour::Comment) => self.color(Role::Dim),
            Role::Syntax(Colour::Keyword) => {
                pick((198, 140, 214), (125, 40, 145), Color::LightMagenta, Color::Magenta)
            }
            Role::Syntax(Colour::Function) => {
                pick((130, 170, 230), (30, 85, 175), Color::LightCyan, Color::Blue)
            }
            Role::Syntax(Colour::Type) => {
                pick((224, 190, 120), (140, 90, 10), Color::LightYellow, Color::Cyan)
            }
            Role::Syntax(Colour::Text | Colour::Number) => {
                pick((150, 195, 125), (50, 120, 40), Color::LightGreen, Color::Green)
            }
            Role::Syntax(Colour::Macro) => {
                pick((205, 150, 105), (150, 75, 20), Color::LightYellow, Color::Yellow)
            }
            Role::Syntax(Colour::Field) => None,
            Role::Task(task) => {
                let at = task.index() % TASKS.len();
                let (dark, light, sixteen) = TASKS[at];
                pick(dark, light, BRIGHT[at], sixteen)
            }
        }
    }
}

type Rgb = (u8, u8, u8);

/// Colours of tasks for dark and light themes; distinguishable with most kinds of colour blindness;
/// without red.
const TASKS: [(Rgb, Rgb, Color); 6] = [
    ((97, 186, 255), (0, 90, 181), Color::Cyan),
    ((246, 193, 90), (150, 90, 0), Color::Yellow),
    ((205, 146, 255), (120, 40, 170), Color::Magenta),
    ((120, 214, 170), (0, 115, 85), Color::Green),
    ((140, 155, 255), (60, 70, 190), Color::Blue),
    ((225, 150, 180), (160, 40, 100), Color::LightMagenta),
];

const BRIGHT: [Color; 6] = [
    Color::LightCyan,
    Color::LightYellow,
    Color::LightMagenta,
    Color::LightGreen,
    Color::LightBlue,
    Color::White,
];

/// Bold without faint: terminals display the combination differently.
fn bold(style: Style) -> Style {
    style.add_modifier(Modifier::BOLD).remove_modifier(Modifier::DIM)
}
