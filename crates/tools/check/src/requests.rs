//! Requests that are open: where they began, and the buffers that they have.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use interpose::{Call, Direction, Kind, Shape};

use crate::buffers::{self, Items, Region};
use crate::findings::{Class, Findings};
use crate::handles::FIRST;
use crate::site::Site;

/// Requests by handle. The library gives sends that have ended at once one handle: which of several is meant is not known
/// then, so of such requests only their number counts.
#[derive(Default)]
pub struct Requests {
    open: HashMap<usize, Vec<Open>>,
    /// Accesses to windows, with the handle of each window, until something completes them.
    accesses: Vec<(usize, Open)>,
}

struct Open {
    /// The call that made it.
    born: Site,
    /// The window that it accesses.
    win: Option<usize>,
    /// The call that started it last; `None`: it is not active.
    started: Option<Site>,
    is_persistent: bool,
    /// Which start of all it was.
    start: u64,
    /// The program may not use its buffers.
    is_exclusive: bool,
    regions: Vec<Region>,
    /// Of the regions that the library only reads, when it was started.
    checksums: Vec<u64>,
}

impl Open {
    fn new(born: Site, win: Option<usize>, is_persistent: bool, regions: Vec<Region>) -> Open {
        let (started, start, is_exclusive, checksums) = (None, 0, false, Vec::new());
        Open { born, win, started, is_persistent, start, is_exclusive, regions, checksums }
    }

    /// `is_disturbed`: another operation writes into its buffers, and that is reported.
    fn start(&mut self, by: Site, is_disturbed: bool) {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        self.started = Some(by);
        self.start = STARTS.fetch_add(1, Relaxed);
        self.is_exclusive = true;
        self.checksums = if is_disturbed { Vec::new() } else { self.read().map(Region::checksum).collect() };
    }

    /// The call at `site` has completed it.
    fn end(&mut self, findings: &Findings<'_>, site: Site) {
        let Some(started) = self.started.take() else { return };
        self.is_exclusive = false;
        let now = self.read().map(Region::checksum);
        if now.zip(&self.checksums).any(|(now, before)| now != *before) {
            findings.add(Class::BufferChanged, started, Some(site), [0; 3]);
        }
    }

    fn forget_buffers(&mut self) {
        self.regions.clear();
        self.give_buffers();
    }

    /// The operation may be complete: the program may know, and use the buffers.
    fn give_buffers(&mut self) {
        self.is_exclusive = false;
        self.checksums.clear();
    }

    /// What the library reads. Regions that it writes as well change by themselves.
    fn read(&self) -> impl Iterator<Item = &Region> {
        let written = self.regions.iter().filter(|it| it.is_written);
        let is_apart = move |it: &&Region| written.clone().all(|other| other.common(it) == 0);
        self.regions.iter().filter(|it| !it.is_written).filter(is_apart)
    }
}

/// Accesses of which the buffers are looked at, at a time.
const MOST: usize = 1024;

/// Whether a call completes accesses to its window at this process.
fn completes_accesses(call: &Call<'_>) -> bool {
    let base = call.function.base();
    matches!(base, "Win_fence" | "Win_complete" | "Win_free")
        || base.starts_with("Win_flush")
        || base.starts_with("Win_unlock")
}

/// What a call sends and what it receives must be apart; of collectives, the library reports that itself.
fn look_within(findings: &Findings<'_>, call: &Call<'_>, regions: &[Region]) {
    if let [one, other] = regions
        && matches!(call.function.chapter, 3 | 12)
        && one.conflicts(other)
    {
        findings.add(Class::BuffersOverlap, Site::of(call), None, [one.common(other) as u64, 0, 0]);
    }
}

impl Requests {
    /// A call was successful; `before`: the requests that it was given, `win`: the window. `is_exposed`: others may write into the
    /// region.
    pub fn changed(
        &mut self,
        findings: &Findings<'_>,
        call: &Call<'_>,
        (before, win): (&[usize], Option<usize>),
        items: &[Items],
        is_exposed: impl Fn(&Region) -> bool,
    ) {
        let site = Site::of(call);
        if let Some(win) = win.filter(|_| completes_accesses(call)) {
            if call.function.base() == "Win_free" {
                self.left_open(findings, win, site);
            }
            self.complete_accesses(findings, win, site);
        }
        match call.function.base() {
            "Start" | "Startall" => before.iter().for_each(|&request| self.start(findings, request, site)),
            "Request_free" => drop(self.take(before[0])),
            "Cancel" => self.may_have_ended(before),
            base if base.starts_with("Request_get_status") => self.may_have_ended(before),
            _ if !before.is_empty() => {
                for (place, _) in call.completed(before) {
                    self.complete(findings, before[place], site);
                }
            }
            _ => {}
        }
        let regions = buffers::of(items);
        look_within(findings, call, &regions);
        let made =
            call.arguments().find(|(_, it)| it.kind == Kind::Request && it.direction == Direction::Out);
        let Some((place, _)) = made.filter(|(_, it)| it.shape == Shape::One) else {
            let is_disturbed = self.look_at(findings, &regions, site);
            if let Some(win) = win.filter(|_| !regions.is_empty() && self.accesses.len() < MOST) {
                let is_disturbed = is_disturbed || regions.iter().any(is_exposed);
                let mut open = Open::new(site, Some(win), false, regions);
                open.start(site, is_disturbed);
                self.accesses.push((win, open));
            }
            return;
        };
        let is_persistent = call.function.base().ends_with("_init");
        let is_disturbed = !is_persistent && self.look_at(findings, &regions, site);
        let request = call.handle(place);
        if request >= FIRST {
            let mut open = Open::new(site, win, is_persistent, regions);
            if !is_persistent {
                open.start(site, is_disturbed);
            }
            let same = self.open.entry(request).or_default();
            same.push(open);
            if same.len() > 1 {
                same.iter_mut().for_each(Open::forget_buffers);
            }
        }
    }

    /// The addresses to which the calls return that started these requests, as far as one alone has the handle.
    pub fn origins(&self, requests: &[usize]) -> Vec<u64> {
        let started = |request| match &self.open.get(request)?[..] {
            [open] => open.started.map(|site| site.address as u64),
            _ => None,
        };
        let mut origins: Vec<u64> = requests.iter().filter_map(started).collect();
        origins.dedup();
        origins
    }

    /// A call has failed, or has told about these requests: some may be complete.
    pub fn may_have_ended(&mut self, requests: &[usize]) {
        let same = requests.iter().filter_map(|request| self.open.get(request).map(|_| *request));
        for request in same.collect::<Vec<_>>() {
            self.open.get_mut(&request).into_iter().flatten().for_each(Open::give_buffers);
        }
    }

    /// The buffers that the program may not use now, with the number of their start: those of the operations that were started first,
    /// at most so many.
    pub fn oldest(&self, most: usize) -> Vec<(u64, &[Region])> {
        let mut oldest: Vec<(u64, &[Region])> = Vec::with_capacity(most + 1);
        let all = self.open.values().flatten().chain(self.accesses.iter().map(|(_, open)| open));
        for open in all.filter(|open| open.is_exclusive && open.started.is_some() && !open.regions.is_empty())
        {
            let at = oldest.partition_point(|(start, _)| *start < open.start);
            oldest.insert(at, (open.start, &open.regions));
            oldest.truncate(most);
        }
        oldest
    }

    /// The program has used a buffer of the operation that was started as number `start`, unless that has ended meanwhile.
    pub fn used(&mut self, findings: &Findings<'_>, start: u64, is_written: bool, by: Site) {
        let all = self.open.values_mut().flatten().chain(self.accesses.iter_mut().map(|(_, open)| open));
        let mut found = all.filter(|open| open.start == start && open.is_exclusive);
        if let Some(open) = found.next()
            && let Some(started) = open.started
        {
            let class = if is_written { Class::BufferUsed } else { Class::BufferStored };
            findings.add(class, started, Some(by), [0; 3]);
            open.give_buffers();
        }
    }

    fn take(&mut self, request: usize) -> Option<Open> {
        let same = self.open.get_mut(&request)?;
        let taken = same.pop();
        if same.is_empty() {
            self.open.remove(&request);
        }
        taken
    }

    fn last(&mut self, request: usize) -> Option<&mut Open> {
        self.open.get_mut(&request)?.last_mut()
    }

    fn start(&mut self, findings: &Findings<'_>, request: usize, site: Site) {
        let Some(regions) = self.last(request).map(|open| open.regions.clone()) else { return };
        let is_disturbed = self.look_at(findings, &regions, site);
        if let Some(open) = self.last(request) {
            open.start(site, is_disturbed);
        }
    }

    /// Whether a call uses memory that active requests have: one finding, however many they are.
    fn look_at(&mut self, findings: &Findings<'_>, regions: &[Region], site: Site) -> bool {
        let mut oldest: Option<(u64, Site, [u64; 3])> = None;
        for open in self.open.values_mut().flatten().chain(self.accesses.iter_mut().map(|(_, open)| open)) {
            let Some(started) = open.started else { continue };
            let pairs = regions.iter().flat_map(|one| open.regions.iter().map(move |other| (one, other)));
            let Some((one, other)) = pairs.into_iter().find(|(one, other)| one.conflicts(other)) else {
                continue;
            };
            let numbers = [one.common(other) as u64, one.is_written.into(), other.is_written.into()];
            open.checksums.clear();
            if oldest.is_none_or(|(start, ..)| open.start < start) {
                oldest = Some((open.start, started, numbers));
            }
        }
        if let Some((_, started, numbers)) = oldest {
            findings.add(Class::BufferOverlap, site, Some(started), numbers);
        }
        oldest.is_some()
    }

    /// The window is freed: its accesses must be complete (MPI-5.0 section 12.2.6).
    fn left_open(&self, findings: &Findings<'_>, win: usize, site: Site) {
        for (_, open) in self.accesses.iter().filter(|(of, _)| *of == win) {
            findings.add(Class::WindowEpoch, open.born, Some(site), [0; 3]);
        }
    }

    fn complete_accesses(&mut self, findings: &Findings<'_>, win: usize, site: Site) {
        for (_, mut open) in self.accesses.extract_if(.., |(of, _)| *of == win) {
            open.end(findings, site);
        }
        // Those with a request are complete at this process, too.
        for open in self.open.values_mut().flatten().filter(|open| open.win == Some(win)) {
            open.give_buffers();
        }
    }

    fn complete(&mut self, findings: &Findings<'_>, request: usize, site: Site) {
        let Some(open) = self.last(request) else { return };
        open.end(findings, site);
        if !open.is_persistent {
            self.take(request);
        }
    }

    /// The library is finalized: what is left was never completed or freed.
    pub fn left(&mut self, findings: &Findings<'_>) {
        for open in self.open.drain().flat_map(|(_, same)| same) {
            match (open.is_persistent, open.started) {
                (true, Some(started)) => findings.add(Class::StartLeak, started, Some(open.born), [0; 3]),
                (true, None) => findings.add(Class::PersistentLeak, open.born, None, [0; 3]),
                (false, _) => findings.add(Class::RequestLeak, open.born, None, [0; 3]),
            }
        }
    }
}
