//! Exchanges what differs between the panel on screen and a newly rendered one.
//!
//! Elements stay the same nodes wherever they can, so that focus, scroll and an
//! opened `<details>` survive. Rows are told apart by their `data-k`, never by
//! position. An element with `data-keep` belongs to the island and is left alone.

use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

/// Makes `old` look like `new`; takes nodes out of `new` where `old` lacks them.
pub fn morph(old: &Element, new: &Element) {
    if old.has_attribute("data-keep") {
        return;
    }
    exchange_attributes(old, new);
    remove_vanished_rows(old, new);
    exchange_children(old, new);
}

fn exchange_attributes(old: &Element, new: &Element) {
    let wanted = new.attributes();
    for attribute in (0..wanted.length()).filter_map(|i| wanted.item(i)) {
        let (name, value) = (attribute.name(), attribute.value());
        if old.get_attribute(&name).as_ref() != Some(&value) {
            // Names come from a parsed document, so they are valid.
            let _ = old.set_attribute(&name, &value);
        }
    }
    let present = old.attributes();
    for attribute in (0..present.length()).rev().filter_map(|i| present.item(i)) {
        let name = attribute.name();
        // Whether a text is folded open is the reader's business.
        if name != "open" && !new.has_attribute(&name) {
            let _ = old.remove_attribute(&name);
        }
    }
}

fn remove_vanished_rows(old: &Element, new: &Element) {
    let wanted: Vec<String> = children(new).filter_map(|node| key(&node)).collect();
    for node in children(old).collect::<Vec<_>>() {
        if key(&node).is_some_and(|key| !wanted.contains(&key)) {
            let _ = old.remove_child(&node);
        }
    }
}

fn exchange_children(old: &Element, new: &Element) {
    let mut cursor = old.first_child();
    for node in children(new).collect::<Vec<_>>() {
        match counterpart(cursor.as_ref(), &node) {
            None => {
                let _ = old.insert_before(&node, cursor.as_ref());
            }
            Some(found) => {
                if cursor.as_ref() == Some(&found) {
                    cursor = found.next_sibling();
                } else {
                    let _ = old.insert_before(&found, cursor.as_ref());
                }
                exchange(&found, &node);
            }
        }
    }
    while let Some(node) = cursor {
        cursor = node.next_sibling();
        let _ = old.remove_child(&node);
    }
}

fn exchange(old: &Node, new: &Node) {
    match (old.dyn_ref::<Element>(), new.dyn_ref::<Element>()) {
        (Some(old), Some(new)) => morph(old, new),
        _ => {
            let text = new.node_value();
            if old.node_value() != text {
                old.set_node_value(text.as_deref());
            }
        }
    }
}

/// The node on screen that shows the same thing: the row of the same key, or,
/// without a key, the next node if it is alike.
fn counterpart(cursor: Option<&Node>, node: &Node) -> Option<Node> {
    match key(node) {
        Some(wanted) => siblings(cursor.cloned()).find(|other| key(other).as_ref() == Some(&wanted)),
        None => cursor.filter(|other| key(other).is_none() && other.node_name() == node.node_name()).cloned(),
    }
}

fn key(node: &Node) -> Option<String> {
    node.dyn_ref::<Element>()?.get_attribute("data-k")
}

fn children(parent: &Element) -> impl Iterator<Item = Node> {
    siblings(parent.first_child())
}

fn siblings(first: Option<Node>) -> impl Iterator<Item = Node> {
    std::iter::successors(first, Node::next_sibling)
}
