pub fn loadable() {}
