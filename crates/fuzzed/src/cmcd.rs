//! CMCD (CTA-5004) as a player sends it with a request.

use airlane_origin::cmcd::Cmcd;

/// Any text as CMCD, in a header field and in a query: what was understood once is understood again.
pub fn cmcd(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = Cmcd::parse(&text);
    assert_eq!(Cmcd::from_query(&read.to_query()).map(|c| c.to_text()), Some(read.to_text()));
    let _ = Cmcd::from_query(&text);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    crate::texts(&[
        r#"bl=21300,br=3200,bs,cid="a,b",d=4004,mtp=25400,sid="6e2fb550",su,tb=6000"#,
        "CMCD=bl%3D1000%2Ccid%3D%22a%2Cb%22%2Ccom.airlane-qoe%3D-1.5&z=2",
    ])
}
