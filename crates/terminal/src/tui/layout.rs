//! Decides where on the screen everything is.
//! Called before each frame, and by the mouse. A narrow screen has the same parts: lists for which there is no room beside the
//! conversation open over it.

use ratatui::layout::Rect;

use super::state::Focus;

/// Columns from which the inbox is beside the conversation, and from which the list of chats is as well.
const WIDE: u16 = 100;
const WIDEST: u16 = 130;
/// Rows of the titles, with the line below them.
const TITLES: u16 = 2;
const WIDEST_TREE: u16 = 32;
const WIDEST_INBOX: u16 = 56;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub area: Rect,
    pub top: Rect,
    pub tree: Option<Rect>,
    pub middle: Rect,
    pub inbox: Option<Rect>,
    /// Of the inbox: what waits, and the card below it.
    pub waiting: Rect,
    pub card: Rect,
    /// With the line above it.
    pub composer: Rect,
    pub status: Rect,
    /// The inbox is beside the conversation.
    pub is_wide: bool,
}

/// What the layout depends on.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    pub focus: Focus,
    /// Rows of the composer.
    pub rows: u16,
    /// Requests in the inbox.
    pub waiting: usize,
}

impl Layout {
    /// The list of chats, where it is beside the conversation.
    pub fn tree_beside(&self) -> Option<Rect> {
        self.tree.filter(|tree| self.is_wide && tree.x != self.middle.x)
    }

    pub fn is_too_small(&self) -> bool {
        self.area.width < 30 || self.area.height < 8
    }
}

/// Columns that the composer has at a width of the screen.
pub fn composer_width(area: Rect) -> u16 {
    let (tree, inbox) = sides(area.width);
    area.width.saturating_sub(tree + inbox + 2)
}

fn sides(width: u16) -> (u16, u16) {
    if width < WIDE {
        return (0, 0);
    }
    if width < WIDEST {
        return (0, width * 2 / 5);
    }
    ((width / 5).clamp(22, WIDEST_TREE), (width / 3).clamp(34, WIDEST_INBOX))
}

pub fn layout(area: Rect, needs: Needs) -> Layout {
    let top = Rect { height: TITLES.min(area.height), ..area };
    let status = Rect { y: area.bottom().saturating_sub(1), height: 1.min(area.height), ..area };
    let body = Rect {
        y: top.bottom(),
        height: area.height.saturating_sub(top.height + status.height),
        ..area
    };
    let (left, right) = sides(area.width);
    let is_wide = right > 0;
    let centre = Rect { x: body.x + left, width: body.width.saturating_sub(left + right), ..body };
    let below = (needs.rows + 1).min(body.height / 2).max(2);
    let composer =
        Rect { y: body.bottom().saturating_sub(below), height: below.min(body.height), ..centre };
    let middle = Rect { height: body.height.saturating_sub(below), ..centre };
    let over = Rect { height: middle.height, ..body };
    let (tree, inbox) = match (is_wide, needs.focus) {
        (true, focus) => {
            let over = Rect { height: middle.height, ..centre };
            let tree = match left {
                0 => (focus == Focus::Tree).then_some(over),
                left => Some(Rect { width: left, ..body }),
            };
            (tree, Some(Rect { x: centre.right(), width: right, ..body }))
        }
        (false, Focus::Tree) => (Some(over), None),
        (false, Focus::Inbox) => (None, Some(over)),
        (false, _) => (None, None),
    };
    let (waiting, card) = inbox.map_or((Rect::ZERO, Rect::ZERO), |inbox| split(inbox, needs));
    Layout { area, top, tree, middle, inbox, waiting, card, composer, status, is_wide }
}

/// The list gets what it needs, up to a third.
fn split(inbox: Rect, needs: Needs) -> (Rect, Rect) {
    let inside = Rect { x: inbox.x + 2, width: inbox.width.saturating_sub(3), ..inbox };
    let wanted = u16::try_from(needs.waiting.saturating_mul(2)).unwrap_or(u16::MAX);
    let height = wanted.min(inside.height / 3);
    // Whole requests only: each has two lines.
    let height = height - height % 2;
    let waiting = Rect { height, ..inside };
    let above = height + u16::from(height > 0);
    let card = Rect { y: inside.y + above, height: inside.height.saturating_sub(above), ..inside };
    (waiting, card)
}

/// The first of the rows that are shown of a list, such that the selected one is among them.
pub fn first_shown(many: usize, selected: usize, rows: usize) -> usize {
    selected.saturating_sub(rows / 2).min(many.saturating_sub(rows))
}
