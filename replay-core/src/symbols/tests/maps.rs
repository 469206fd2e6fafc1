//! Memory maps as text.

use crate::symbols::{Layout, Mapping, ModuleMap, parse_maps};
use traces::Site;

const TEXT: &str = "\
00400000-00401000 r--p 00000000 fe:00 11 /opt/a b/fixed
00401000-00402000 r-xp 00001000 fe:00 11 /opt/a b/fixed
00403000-00405000 rw-p 00002000 fe:00 11 /opt/a b/fixed
00405000-00406000 rw-p 00000000 00:00 0
00a00000-00b00000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000001000 r--p 00000000 fe:00 12                         /lib/odd\\012name.so (deleted)
7f0000001000-7f0000002000 r-xp 00001000 fe:00 12                         /lib/odd\\012name.so (deleted)
7f0000002000-7f0000003000 rw-p 00001000 fe:00 12                         /lib/odd\\012name.so (deleted)
7f0000010000-7f0000014000 r--p 00000000 fe:00 12                         /lib/odd\\012name.so (deleted)
7f0000100000-7f0000101000 r--p 00000000 fe:00 13                         /usr/share/locale.dat
7f0000200000-7f0000201000 rwxp 00000000 00:00 0
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

fn layout(mapping: &Mapping) -> Option<Layout> {
    let text = [0x1000, 0x1000, 0x400, 0x400];
    let build_id = "ab".into();
    match mapping.path.as_str() {
        "/opt/a b/fixed" => Some(Layout {
            movable: false,
            segments: vec![
                [0, 0x40_0000, 0x300, 0x300],
                [0x1000, 0x40_1000, 0x400, 0x400],
                [0x2e00, 0x40_3e00, 0x500, 0x2000],
            ],
            build_id,
        }),
        "/lib/odd\nname.so" => Some(Layout {
            movable: true,
            // Text and data share a page of the file.
            segments: vec![[0, 0, 0x300, 0x300], text, [0x1400, 0x2400, 0x100, 0x100]],
            build_id,
        }),
        _ => None,
    }
}

#[test]
fn lines_are_understood() {
    let mappings = parse_maps(TEXT);
    assert_eq!(mappings.len(), 13);
    assert_eq!(mappings[0].path, "/opt/a b/fixed");
    assert_eq!((mappings[1].executable, mappings[1].offset, mappings[1].inode), (true, 4096, 11));
    assert_eq!(mappings[3].path, "");
    assert_eq!((&*mappings[5].path, mappings[5].deleted), ("/lib/odd\nname.so", true));
    assert_eq!(mappings[12].range.start, 0xffff_ffff_ff60_0000);
}

#[test]
fn invalid_lines_are_skipped() {
    for text in
        ["", "\n\n", "x", "1-2", "zz-1 r--p 0 0 0", "2000-1000 r-xp 00000000 00:00 0", "é - "]
    {
        assert_eq!(parse_maps(text), [], "{text}");
    }
    let map = ModuleMap::build(&[], "", |_| None);
    assert_eq!(map.site(0), None);
    assert_eq!(map.site(u64::MAX), None);
    assert!(!map.is_code(0));
}

#[test]
fn modules_follow_from_mappings_and_headers() {
    let map = ModuleMap::build(&parse_maps(TEXT), "/opt/a b/fixed", layout);
    let seen: Vec<_> = map
        .modules()
        .iter()
        .map(|loaded| (loaded.module.path.as_str(), loaded.bias, loaded.range.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            ("/opt/a b/fixed", 0, 0x40_0000..0x40_6000),
            ("/lib/odd\nname.so", 0x7f00_0000_0000, 0x7f00_0000_0000..0x7f00_0000_3000),
            ("[vdso]", 0x7ffc_0000_0000, 0x7ffc_0000_0000..0x7ffc_0000_2000),
        ]
    );
    for (address, site) in [
        (0x40_1234, Some((0, 0x40_1234))),
        (0x40_5ff0, Some((0, 0x40_5ff0))), // .bss, beyond the file
        (0x7f00_0000_2410, Some((1, 0x2410))),
        (0x7ffc_0000_0100, Some((2, 0x100))),
        (0x7f00_0001_0000, None), // the file once more, as data
        (0xa0_0000, None),
    ] {
        let site = site.map(|(module, offset)| Site { module, offset });
        assert_eq!(map.site(address), site, "{address:x}");
        if let Some(site) = site {
            assert_eq!(map.address(site), Some(address));
        }
    }
    assert!(map.is_code(0x7f00_0020_0000) && map.is_code(0x40_1000) && !map.is_code(0x40_2000));
}

#[test]
fn without_headers_the_mappings_have_to_do() {
    let map = ModuleMap::build(&parse_maps(TEXT), "/opt/a b/fixed", |_| None);
    assert_eq!(map.site(0x7f00_0000_1010), Some(Site { module: 1, offset: 0x1010 }));
    assert_eq!(map.site(0x7f00_0001_0000), None);
}

#[test]
fn modules_keep_their_numbers_when_others_come_and_go() {
    let before = parse_maps(TEXT);
    let mut map = ModuleMap::build(&before[..5], "/opt/a b/fixed", layout);
    map.update(ModuleMap::build(&before, "/opt/a b/fixed", layout));
    assert_eq!(map.modules().len(), 3);
    let odd = map.site(0x7f00_0000_1000).unwrap();
    map.update(ModuleMap::build(&before[..5], "/opt/a b/fixed", layout));
    assert_eq!((map.modules().len(), map.site(0x7f00_0000_1000)), (3, None));
    assert_eq!(map.address(odd), None);
    map.update(ModuleMap::build(&before, "/opt/a b/fixed", layout));
    assert_eq!(map.site(0x7f00_0000_1000), Some(odd));
}

#[test]
fn headers_from_hell_do_no_harm() {
    let wild = |_: &Mapping| {
        let most = u64::MAX;
        Some(Layout {
            movable: true,
            segments: vec![[0, most, most, most], [most; 4]],
            ..Default::default()
        })
    };
    let map = ModuleMap::build(&parse_maps(TEXT), "", wild);
    let _ = (map.site(0x40_1000), map.site(u64::MAX));
    let none = |_: &Mapping| Some(Layout::default());
    assert!(ModuleMap::build(&parse_maps(TEXT), "", none).site(0x40_1000).is_some());
}
