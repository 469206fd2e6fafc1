//! Sites: which instructions a line or a function means.

use super::calls;
use super::entries;
use super::grammar::{RoleText, SiteText, Wrong};
use super::nearest::{nearest, offer};
use super::writes;
use crate::symbols::typed::{PlaceCode, StaticVariable};
use crate::symbols::{Image, InlinedCall, is_library};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use traces::predicate::{self, CodeAddress, CodeRange, Extent};

/// A module of the program: its file, and its name for the dynamic loader (empty for the program).
pub(super) struct CodeModule {
    pub(super) name: String,
    pub(super) image: Arc<Image>,
    /// Its variables with static storage.
    pub(super) statics: Vec<(String, StaticVariable)>,
    rows: OnceLock<BTreeMap<String, Vec<Row>>>,
    inlined: OnceLock<BTreeMap<String, Vec<InlinedCall>>>,
}

impl CodeModule {
    pub(super) fn new(name: String, image: Arc<Image>) -> CodeModule {
        let statics = image.typed_statics("");
        CodeModule { name, image, statics, rows: OnceLock::new(), inlined: OnceLock::new() }
    }

    /// The rows of its line tables, by their source files.
    fn rows(&self) -> &BTreeMap<String, Vec<Row>> {
        self.rows.get_or_init(|| {
            let mut all: BTreeMap<String, Vec<Row>> = BTreeMap::new();
            for (start, len, path, line) in self.image.line_rows(0, u64::MAX) {
                all.entry(path).or_default().push(Row { start, len, line });
            }
            all
        })
    }

    /// The code of functions that were inlined into the program's own source, by the files of the calls.
    fn inlined(&self) -> &BTreeMap<String, Vec<InlinedCall>> {
        self.inlined.get_or_init(|| {
            let mut all: BTreeMap<String, Vec<InlinedCall>> = BTreeMap::new();
            for call in self.image.inlined(&|file| !is_library(file)) {
                all.entry(call.file.clone()).or_default().push(call);
            }
            all
        })
    }
}

/// An instruction of a site.
#[derive(Clone)]
pub(super) struct SiteAddress {
    pub(super) at: CodeAddress,
    pub(super) image: Arc<Image>,
    /// Its source file.
    pub(super) file: String,
    /// Its line; none if it is the beginning of a function.
    line: Option<u32>,
    /// Which operations belong to the line, once that was asked.
    extent: Arc<OnceLock<Extent>>,
}

impl SiteAddress {
    /// Which operations belong to its line.
    pub(super) fn extent(&self, modules: &[CodeModule]) -> Extent {
        self.extent.get_or_init(|| extent(self, modules)).clone()
    }
}

/// The instructions of the sites that were resolved so far: many predicates have the same ones.
#[derive(Default)]
pub(super) struct Resolved(Mutex<HashMap<(SiteText, bool), Vec<SiteAddress>>>);

/// A copy of a line: its module, the function's address there, and the functions into which it was inlined.
type LineCopy = (usize, u64, Vec<String>);

/// The most lines of one site.
const MOST_LINES: u32 = 64;

/// `endbr64`, the first instruction of a function that is called indirectly.
const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

impl Resolved {
    /// The instructions that a site means.
    pub(super) fn resolve(
        &self,
        role: &RoleText,
        modules: &[CodeModule],
    ) -> Result<Vec<SiteAddress>, Wrong> {
        let key = (role.site.clone(), role.write);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(places) = known {
            return Ok(places);
        }
        let places = resolve(role, modules)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key, places.clone());
        Ok(places)
    }
}

fn resolve(role: &RoleText, modules: &[CodeModule]) -> Result<Vec<SiteAddress>, Wrong> {
    match &role.site {
        SiteText::Line(file, line) => of_line(role, file, *line, modules),
        SiteText::Containing(file, text) => {
            let line = line_of_text(role, file, text, modules)?;
            of_line(role, file, line, modules)
        }
        SiteText::Lines(first, last) => of_lines(role, first, last, modules),
        SiteText::Function(name) => of_function(role, name, modules),
    }
}

/// The instructions of all lines from one to another. A thread is at one of them at a time.
fn of_lines(
    role: &RoleText,
    first: &SiteText,
    last: &SiteText,
    modules: &[CodeModule],
) -> Result<Vec<SiteAddress>, Wrong> {
    let line = |of: &SiteText| match of {
        SiteText::Line(file, line) => Ok((file.clone(), *line)),
        SiteText::Containing(file, text) => {
            Ok((file.clone(), line_of_text(role, file, text, modules)?))
        }
        SiteText::Lines(..) | SiteText::Function(_) => {
            Wrong::new(role.site_at, "expected a line, by its number or its text")
        }
    };
    let ((file, first), (_, last)) = (line(first)?, line(last)?);
    if last < first || last - first >= MOST_LINES {
        let what = match last < first {
            true => format!("line {last} of {file} is before line {first}"),
            false => {
                format!("a site has at most {MOST_LINES} lines, not those from {first} to {last}")
            }
        };
        return Wrong::new(role.site_at, what);
    }
    let have_code = (first..=last).filter(|&line| is_there(&file, line, modules));
    let mut places = Vec::new();
    for line in have_code {
        places.extend(of_line(role, &file, line, modules)?);
    }
    // Says what is near.
    if places.is_empty() { of_line(role, &file, first, modules) } else { Ok(places) }
}

/// Whether a path is that of a file as the user names it: by its last components.
fn is_called(path: &str, file: &str) -> bool {
    let path = Path::new(path);
    !file.is_empty() && path.ends_with(file)
}

/// A row of a line table: instructions of one line.
pub(super) struct Row {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) line: u32,
}

/// The rows of the line tables of a source file, with the numbers of their modules and the file's path.
fn rows<'a>(
    file: &'a str,
    modules: &'a [CodeModule],
) -> impl Iterator<Item = (usize, &'a str, &'a Row)> {
    modules.iter().enumerate().flat_map(move |(number, module)| {
        let of_file = module.rows().iter().filter(move |(path, _)| is_called(path, file));
        of_file.flat_map(move |(path, rows)| rows.iter().map(move |row| (number, &**path, row)))
    })
}

/// The inlined code of calls in a source file, with the numbers of their modules.
fn inlined<'a>(
    file: &'a str,
    modules: &'a [CodeModule],
) -> impl Iterator<Item = (usize, &'a InlinedCall)> {
    modules.iter().enumerate().flat_map(move |(number, module)| {
        let of_file = module.inlined().iter().filter(move |(path, _)| is_called(path, file));
        of_file.flat_map(move |(_, calls)| calls.iter().map(move |call| (number, call)))
    })
}

fn of_line(
    role: &RoleText,
    file: &str,
    line: u32,
    modules: &[CodeModule],
) -> Result<Vec<SiteAddress>, Wrong> {
    let rows: Vec<(usize, &str, &Row)> = rows(file, modules).collect();
    if rows.is_empty() {
        return Wrong::new(role.site_at, no_file(file, modules));
    }
    // The line's code in each function and each inlined copy of one.
    let mut first: BTreeMap<LineCopy, (Vec<Range<u64>>, String)> = BTreeMap::new();
    for LineCode { module, path, range, names } in code_of_line(file, line, modules) {
        let image = &modules[module].image;
        let code = match role.write {
            false => range,
            true => match writes::first(image, range) {
                Some(at) => at..at + 1,
                None => continue,
            },
        };
        let function = image.function_range(code.start).map_or(code.start, |range| range.start);
        first.entry((module, function, names)).or_insert((Vec::new(), path)).0.push(code);
    }
    // Only what does not write is missing where the line has code.
    if first.is_empty() && is_there(file, line, modules) {
        return Wrong::new(
            role.site_at,
            format!(
                "no instruction of line {line} of {file} writes to memory outside of the stack frame: \
                 leave out /write, or name the line that writes"
            ),
        );
    }
    // There a call in front of the instruction reports the write: the thread is past it at the instruction.
    let is_reported = |(module, ..): &LineCopy| modules[*module].image.reports_writes();
    if role.write && first.keys().any(is_reported) {
        return Wrong::new(
            role.site_at,
            "/write cannot be used in a program whose accesses the compiler instruments: build it \
             without `heddle build`, or leave out /write",
        );
    }
    if first.is_empty() {
        let lines: BTreeSet<u32> =
            rows.iter().map(|(.., row)| row.line).filter(|&line| line > 0).collect();
        let before = lines.range(..line).next_back();
        let after = lines.range(line..).next();
        let near: Vec<String> = before.into_iter().chain(after).map(u32::to_string).collect();
        let near = match near.len() {
            1 => format!("the nearest line with code is {}", near[0]),
            _ => format!("the nearest lines with code are {}", near.join(" and ")),
        };
        return Wrong::new(
            role.site_at,
            format!("line {line} of {file} has no code, or it was optimised away; {near}"),
        );
    }
    let line = Some(line).filter(|_| !role.write);
    let mut places = Vec::new();
    for ((module, ..), (code, file)) in &first {
        let image = &modules[*module].image;
        let entries = match role.write {
            false => entries::entries(image, code),
            true => code.iter().map(|write| write.start).min().into_iter().collect(),
        };
        let place = |offset| place(&modules[*module], offset, file.clone(), line);
        places.extend(entries.into_iter().map(place));
    }
    Ok(places)
}

/// Whether a line has code.
fn is_there(file: &str, line: u32, modules: &[CodeModule]) -> bool {
    rows(file, modules).any(|(.., row)| row.line == line)
        || inlined(file, modules).any(|(_, call)| call.line == line)
}

/// Some code of a line.
struct LineCode {
    /// The number of its module.
    module: usize,
    /// The path of the source file.
    path: String,
    range: Range<u64>,
    /// The names of the function that contains the line, and of those into which that was inlined.
    names: Vec<String>,
}

/// The code of a line: its own, and that of library functions that were inlined into it, which has rows of
/// their files.
fn code_of_line(file: &str, line: u32, modules: &[CodeModule]) -> Vec<LineCode> {
    let own = rows(file, modules).filter(|(.., row)| row.line == line);
    let own = own.map(|(module, path, row)| LineCode {
        module,
        path: path.to_owned(),
        range: row.start..row.start + row.len,
        names: modules[module].image.function_names(row.start),
    });
    let mut all: Vec<LineCode> = own.collect();
    // A line that only calls functions with separate lines begins where the first of them does.
    let has_own = !all.is_empty();
    for (module, call) in inlined(file, modules) {
        if call.line == line && (call.is_innermost || !has_own) {
            let mut names = modules[module].image.function_names(call.code.start);
            names.drain(..names.len().saturating_sub(call.callers));
            let (path, range) = (call.file.clone(), call.code.clone());
            all.push(LineCode { module, path, range, names });
        }
    }
    all
}

/// The next line with code in the function that contains a line.
pub(super) fn line_after(path: &str, line: u32, modules: &[CodeModule]) -> Option<u32> {
    let inlined = inlined(path, modules).map(|(module, call)| (module, call.code.start, call.line));
    let all: Vec<(usize, u64, u32)> = rows(path, modules)
        .map(|(module, _, row)| (module, row.start, row.line))
        .chain(inlined)
        .collect();
    let &(module, start, _) = all.iter().find(|(.., other)| *other == line)?;
    let function = modules[module].image.function_range(start)?;
    let is_within = |(other, at, _): &&(usize, u64, u32)| *other == module && function.contains(at);
    all.iter().filter(is_within).map(|(.., other)| *other).filter(|&other| other > line).min()
}

/// Whether a line executes something before its first write.
pub(super) fn writes_behind(path: &str, line: u32, modules: &[CodeModule]) -> bool {
    let code = code_of_line(path, line, modules);
    code.iter().any(|one| {
        let image = &modules[one.module].image;
        let same = |other: &&LineCode| (other.module, &other.names) == (one.module, &one.names);
        let begins = code.iter().filter(same).map(|other| other.range.start).min();
        writes::first(image, one.range.clone()).is_some_and(|write| Some(write) > begins)
            || writes::is_behind(image, one.range.clone())
    })
}

/// Which operations belong to the line of a place. A function that the program itself defines has
/// separate lines, so calls of such functions are left out.
fn extent(place: &SiteAddress, modules: &[CodeModule]) -> Extent {
    let of_place = |module: &&CodeModule| module.name == place.at.module;
    let Some((line, module)) = place.line.zip(modules.iter().find(of_place)) else {
        return Extent::default();
    };
    let Some(function) = place.image.function_range(place.at.offset) else {
        return Extent::default();
    };
    let is_within = |code: &Range<u64>| function.contains(&code.start) && code.start < code.end;
    let relative = |code: &Range<u64>| CodeRange {
        distance: code.start.wrapping_sub(place.at.offset).cast_signed(),
        len: code.end - code.start,
    };
    let mut calls: Vec<&(u32, Option<String>)> = Vec::new();
    let mut code = Vec::new();
    for call in module.inlined().get(&place.file).into_iter().flatten() {
        if call.is_innermost && call.line == line && is_within(&call.code) {
            let known = calls.iter().position(|&called| *called == call.called);
            let number = known.unwrap_or_else(|| {
                calls.push(&call.called);
                calls.len() - 1
            });
            let call_number = number as u32 + 1;
            code.push(predicate::LineCode { range: relative(&call.code), call: call_number });
        }
    }
    let is_own = |target: u64| {
        let rows = module.image.line_rows(target, target + 1);
        rows.first().is_some_and(|(_, _, file, _)| !is_library(file))
    };
    let rows = module.rows().get(&place.file).into_iter().flatten();
    for row in rows.filter(|row| row.line == line) {
        let row = row.start..row.start + row.len;
        if is_within(&row) {
            let parts = calls::without(&module.image, row, &is_own);
            let part = |part| predicate::LineCode { range: relative(part), call: 0 };
            code.extend(parts.iter().map(part));
        }
    }
    Extent { code, function: relative(&function) }
}

fn place(module: &CodeModule, offset: u64, file: String, line: Option<u32>) -> SiteAddress {
    let at = CodeAddress { module: module.name.clone(), offset };
    let image = Arc::clone(&module.image);
    SiteAddress { at, image, file, line, extent: Arc::default() }
}

fn no_file(file: &str, modules: &[CodeModule]) -> String {
    let mut names = BTreeSet::new();
    for module in modules {
        for path in module.rows().keys() {
            let name = Path::new(path).file_name().unwrap_or_default();
            names.insert(name.to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        return "the program has no debug information: build it with -g".to_owned();
    }
    let near = nearest(file, names.iter().map(String::as_str));
    let near = match near.is_empty() {
        true => names.into_iter().take(3).collect(),
        false => near,
    };
    format!("the program has no code from a file {file}{}", offer(&near))
}

/// The number of the only line that contains a text.
fn line_of_text(
    role: &RoleText,
    file: &str,
    text: &str,
    modules: &[CodeModule],
) -> Result<u32, Wrong> {
    let paths: BTreeSet<String> = rows(file, modules).map(|(_, path, _)| path.to_owned()).collect();
    if paths.is_empty() {
        return Wrong::new(role.site_at, no_file(file, modules));
    }
    let read = |path: &String| std::fs::read(PathBuf::from(path)).ok();
    let Some(source) = paths.iter().find_map(read) else {
        let path = paths.first().cloned().unwrap_or_default();
        return Wrong::new(role.site_at, format!("cannot read {path}: give the line's number"));
    };
    let source = String::from_utf8_lossy(&source);
    let lines: Vec<u32> =
        (1..).zip(source.lines()).filter(|(_, line)| line.contains(text)).map(|it| it.0).collect();
    match lines[..] {
        [line] => Ok(line),
        [] => {
            let all: Vec<&str> = source.lines().map(str::trim).collect();
            let near = nearest(text, all.into_iter());
            let near =
                near.first().map_or(String::new(), |near| format!("; the nearest is `{near}`"));
            Wrong::new(role.site_at, format!("no line of {file} contains `{text}`{near}"))
        }
        _ => {
            let lines: Vec<String> = lines.iter().take(5).map(u32::to_string).collect();
            Wrong::new(
                role.site_at,
                format!("several lines of {file} contain `{text}`: {}", lines.join(", ")),
            )
        }
    }
}

/// Whether a function's name is the one that the user gave: the whole, or its last components.
fn is_function(name: &str, wanted: &str) -> bool {
    name == wanted || name.strip_suffix(wanted).is_some_and(|before| before.ends_with("::"))
}

/// The source file of the program's `main`.
pub(super) fn file_of_main(modules: &[CodeModule]) -> Option<String> {
    let image = &modules.first()?.image;
    let ranges = image.functions_named(&|name| is_function(name, "main"));
    let rows = ranges.into_iter().flat_map(|range| image.line_rows(range.start, range.end));
    rows.map(|row| row.2).next()
}

/// The entries of the functions with a name, to compare with those of threads.
pub(super) fn entries(name: &str, modules: &[CodeModule]) -> Vec<CodeAddress> {
    let mut all = Vec::new();
    for module in modules {
        for range in module.image.functions_named(&|other| is_function(other, name)) {
            all.push(CodeAddress { module: module.name.clone(), offset: range.start });
        }
    }
    all
}

fn of_function(
    role: &RoleText,
    name: &str,
    modules: &[CodeModule],
) -> Result<Vec<SiteAddress>, Wrong> {
    let mut places = Vec::new();
    let mut known = BTreeSet::new();
    for module in modules {
        let image = &module.image;
        for range in image.functions_named(&|other| is_function(other, name)) {
            if range.start < range.end {
                let (offset, file) = after_prologue(image, range);
                places.push(place(module, offset, file, None));
            }
        }
        // Copies that were inlined elsewhere.
        let inlined = image.parts(&|other| is_function(other, name), &|_| false);
        let mut last = None;
        for part in inlined {
            let names = image.function_names(part.start);
            let depth = names.iter().position(|other| is_function(other, name));
            let is_inlined = depth.is_some_and(|depth| depth + 1 < names.len());
            if is_inlined && last != Some(part.start) {
                let file = image.line_rows(part.start, part.start + 1);
                let file = file.into_iter().next().map_or_else(String::new, |row| row.2);
                places.push(place(module, part.start, file, None));
            }
            last = is_inlined.then_some(part.end);
        }
    }
    if !places.is_empty() {
        return Ok(places);
    }
    for module in modules {
        for row in module.rows().values().flatten() {
            known.extend(module.image.function_names(row.start));
        }
    }
    let near = nearest(name, known.iter().map(String::as_str));
    Wrong::new(
        role.site_at,
        format!("the program has no function {name}, or it was optimised away{}", offer(&near)),
    )
}

/// Where the body of a function begins. Without optimisation the parameters are stored first.
fn after_prologue(image: &Image, range: std::ops::Range<u64>) -> (u64, String) {
    let mut rows = image.line_rows(range.start, range.end);
    rows.retain(|row| range.contains(&row.0) && row.3 > 0);
    rows.sort_by_key(|row| row.0);
    let file = rows.first().map_or_else(String::new, |row| row.2.clone());
    let marked = image.bytes_at(range.start).is_some_and(|bytes| bytes.starts_with(&MARK));
    let entry = range.start + if marked { MARK.len() as u64 } else { 0 };
    let body = rows.iter().map(|row| row.0).find(|&start| start > range.start);
    // In optimised code, lines are mixed, and the parameters are in registers at the entry.
    let frame = [0x55, 0x48, 0x89];
    let stores = |body: u64| {
        image.bytes_at(entry).is_some_and(|bytes| bytes.starts_with(&frame))
            || image
                .typed_locals(body)
                .iter()
                .any(|(.., place)| matches!(place, Some(PlaceCode::Address(_))))
    };
    match body.filter(|&body| stores(body)) {
        Some(body) => (body, file),
        None => (entry, file),
    }
}
