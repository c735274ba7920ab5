//! The terminal.

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table as Widget};

use super::Arguments;
use super::page::{Column, columns, summary};
use super::sample::Sampler;
use super::table::{Order, Table};
use crate::live::elsewhere::Pages;
use crate::live::error::Error;

/// What the keys have set.
struct View {
    order: Order,
    /// The first row that is shown.
    first: usize,
    /// Rows that there were room for.
    room: usize,
    colours: bool,
}

/// What a key has done.
enum Wish {
    Nothing,
    Draw,
    Leave,
}

/// Answers of other hosts are waited for so long at each look; keys are not read meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// Shows the job until it ends or a key is hit.
pub fn run(sampler: Sampler, arguments: &Arguments) -> Result<(), Error> {
    let number = sampler.description().number;
    let mut terminal = ratatui::try_init().map_err(Error::Terminal)?;
    let outcome = watch(&mut terminal, sampler, arguments);
    ratatui::restore();
    if outcome? {
        println!("job {number} has ended");
    }
    Ok(())
}

/// Draws again and again; whether the job has ended.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    mut sampler: Sampler,
    arguments: &Arguments,
) -> Result<bool, Error> {
    let interval = Duration::from_secs_f64(arguments.interval);
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut view = View { order: arguments.sort, first: 0, room: 1, colours };
    let (mut others, mut asked) = (Pages::default(), arguments.ask_elsewhere(&sampler));
    let mut before = sampler.sample();
    // The first page is there soon; its rates are those of a short time.
    let mut next = Instant::now() + interval.min(Duration::from_millis(300));
    loop {
        if let Wish::Leave = wait(next, &mut view)? {
            return Ok(false);
        }
        let now = sampler.sample();
        if sampler.is_over() {
            return Ok(true);
        }
        if let Some(pages) = asked.look(sampler.connection(), PATIENCE) {
            (others, asked) = (pages, arguments.ask_elsewhere(&sampler));
        }
        next = Instant::now() + interval;
        loop {
            let table = Table::new(sampler.description(), (&before, &now), &others, view.order);
            terminal.draw(|frame| draw(frame, &table, &mut view)).map_err(Error::Terminal)?;
            match wait(next, &mut view)? {
                Wish::Leave => return Ok(false),
                Wish::Draw => {}
                Wish::Nothing => break,
            }
        }
        before = now;
    }
}

/// Waits for a key until then.
fn wait(until: Instant, view: &mut View) -> Result<Wish, Error> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if !event::poll(left).map_err(Error::Terminal)? {
            return Ok(Wish::Nothing);
        }
        match event::read().map_err(Error::Terminal)? {
            Event::Key(key) if key.kind == KeyEventKind::Press => match view.key(key) {
                Wish::Nothing => {}
                wish => return Ok(wish),
            },
            Event::Resize(..) => return Ok(Wish::Draw),
            _ => {}
        }
    }
}

impl View {
    fn key(&mut self, key: KeyEvent) -> Wish {
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Leave,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Wish::Leave,
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Down => self.first += 1,
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.first += self.room,
            KeyCode::PageUp => self.first = self.first.saturating_sub(self.room),
            KeyCode::Home => self.first = 0,
            _ => return Wish::Nothing,
        }
        Wish::Draw
    }
}

fn draw(frame: &mut Frame<'_>, table: &Table, view: &mut View) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(3), Constraint::Min(2), Constraint::Length(1)])
            .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let title = Line::styled(table.title.clone(), bold);
    // There is a line for it.
    let missing = Line::from(table.missing.join("; "));
    let title = Text::from(vec![title, Line::from(summary(table)), missing]);
    frame.render_widget(Paragraph::new(title), head);
    view.room = usize::from(body.height.saturating_sub(1)).max(1);
    view.first = view.first.min(table.rows.len().saturating_sub(view.room));
    let shown = &table.rows[view.first..(view.first + view.room).min(table.rows.len())];
    let aligned = |column: &Column, text: String| {
        let side = if column.is_number { Alignment::Right } else { Alignment::Left };
        Cell::from(Text::from(text).alignment(side))
    };
    let columns = columns(table);
    let rows = shown.iter().map(|row| {
        let cells = columns.iter().map(|column| aligned(column, (column.cell)(row)));
        Row::new(cells).style(style(&row.state, view.colours))
    });
    let widths = columns.iter().map(|column| match column.width {
        0 => Constraint::Min(10),
        width => Constraint::Length(width),
    });
    let names = columns.iter().map(|column| aligned(column, column.name.to_owned()));
    frame
        .render_widget(Widget::new(rows, widths).header(Row::new(names).style(bold)).column_spacing(2), body);
    let order = match view.order {
        Order::Rank => "rank",
        Order::Waiting => "share of waiting",
        Order::Bytes => "bytes/s",
    };
    let (first, last) = (view.first + shown.len().min(1), view.first + shown.len());
    let keys = format!(
        "q leave   s order: {order}   arrows, PgUp, PgDn: rows {first} to {last} of {}",
        table.rows.len()
    );
    frame.render_widget(Paragraph::new(keys).style(Style::new().add_modifier(Modifier::DIM)), foot);
}

fn style(state: &str, colours: bool) -> Style {
    match state {
        _ if !colours => Style::new(),
        "waits" => Style::new().fg(Color::Yellow),
        "computes" | "in MPI" => Style::new().fg(Color::Green),
        "ended" | "stopped" | "waits for disk" => Style::new().fg(Color::Red),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::top::table::Row;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn row(rank: u32) -> Row {
        Row {
            rank,
            host: if rank < 10 { "h0".into() } else { "h1".into() },
            pid: 100,
            state: "waits".into(),
            call: "MPI_Recv".into(),
            place: "solver.c:42 (step)".into(),
            bytes: 2048.0,
            messages: 12_345.0,
            waiting: 0.5,
            processors: 1.0,
        }
    }

    #[test]
    fn rows_that_have_no_room_are_reached_by_keys() {
        let mut terminal = Terminal::new(TestBackend::new(140, 10)).unwrap();
        let mut view = View { order: Order::Rank, first: 0, room: 1, colours: false };
        let rows = (0..20).map(row).collect();
        let table =
            Table { title: "job 7".into(), rows, missing: vec!["host h2: none".into()], ..Table::default() };
        let mut screen = |view: &mut View| {
            terminal.draw(|frame| draw(frame, &table, view)).unwrap();
            let buffer = terminal.backend().buffer().clone();
            let text: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
            text
        };
        let first = screen(&mut view);
        assert!(
            first.contains("job 7")
                && first.contains("host h2: none")
                && first.contains("h0")
                && first.contains("12.3 k")
                && first.contains("solver.c:42 (step)"),
            "{first}"
        );
        assert!(first.contains("rows 1 to 5 of 20"), "{first}");
        for _ in 0..9 {
            view.key(KeyEvent::from(KeyCode::PageDown));
        }
        assert!(screen(&mut view).contains("rows 16 to 20 of 20"));
        assert!(matches!(view.key(KeyEvent::from(KeyCode::Char('q'))), Wish::Leave));
    }

    #[test]
    fn a_small_terminal_does_no_harm() {
        let table = Table::default();
        let mut view = View { order: Order::Rank, first: 9, room: 1, colours: true };
        for (width, height) in [(1, 1), (10, 3), (200, 2)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &table, &mut view)).unwrap();
        }
    }
}
