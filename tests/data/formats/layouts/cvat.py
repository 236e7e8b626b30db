"""A project of CVAT exported as "CVAT for images 1.1": annotations.xml and a folder of images for each subset."""

from pathlib import Path

XML = """\
<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <project>
      <id>12</id>
      <name>street – été</name>
      <bugtracker></bugtracker>
      <created>2024-03-09 21:52:49.513742+00:00</created>
      <tasks>
        <task>
          <id>34</id>
          <name>first</name>
          <size>5</size>
          <mode>annotation</mode>
          <subset>Train</subset>
        </task>
      </tasks>
      <labels>
        <label>
          <name>car</name>
          <color>#2080c0</color>
          <type>any</type>
          <attributes>
            <attribute>
              <name>parked</name>
              <mutable>False</mutable>
              <input_type>checkbox</input_type>
              <default_value>false</default_value>
              <values></values>
            </attribute>
          </attributes>
        </label>
        <label>
          <name>vélo</name>
          <color>#c06060</color>
          <type>any</type>
          <attributes>
          </attributes>
        </label>
        <label>
          <name>person</name>
          <color>#5c5eba</color>
          <type>skeleton</type>
          <attributes>
          </attributes>
          <svg>&lt;circle r="0.75" cx="40" cy="30" data-label-name="head"&gt;&lt;/circle&gt;</svg>
        </label>
        <label>
          <name>head</name>
          <color>#d12345</color>
          <type>points</type>
          <attributes>
          </attributes>
          <parent>person</parent>
        </label>
        <label>
          <name>scene</name>
          <color>#aaf0d1</color>
          <type>tag</type>
          <attributes>
            <attribute>
              <name>rain</name>
              <mutable>False</mutable>
              <input_type>checkbox</input_type>
              <default_value>false</default_value>
              <values></values>
            </attribute>
            <attribute>
              <name>time</name>
              <mutable>False</mutable>
              <input_type>select</input_type>
              <default_value>day</default_value>
              <values>day
night</values>
            </attribute>
          </attributes>
        </label>
      </labels>
      <subsets>Train
Validation</subsets>
    </project>
    <dumped>2024-03-10 10:00:00.000000+00:00</dumped>
  </meta>
  <image id="0" name="a/1.jpg" subset="Train" task_id="34" width="200" height="100">
    <box label="car" source="manual" occluded="0" xtl="20.00" ytl="10.00" xbr="120.00" ybr="60.00" z_order="0">
      <attribute name="parked">true</attribute>
    </box>
    <box label="car" source="manual" occluded="1" xtl="80.00" ytl="40.00" xbr="120.00" ybr="60.00" rotation="90.0" \
z_order="0">
      <attribute name="parked">false</attribute>
    </box>
    <polygon label="vélo" source="manual" occluded="0" points="1.00,2.00;3.00,4.00;5.00,1.00" z_order="0">
    </polygon>
  </image>
  <image id="1" name="2.jpg" subset="Train" task_id="34" width="200" height="100">
    <skeleton label="person" source="manual" z_order="0">
      <points label="head" source="manual" outside="0" occluded="0" points="10.00,20.00">
      </points>
    </skeleton>
    <tag label="scene" source="manual">
      <attribute name="rain">true</attribute>
      <attribute name="time">night</attribute>
    </tag>
  </image>
  <image id="2" name="3.jpg" subset="Train" task_id="34" width="200" height="100">
  </image>
  <image id="3" name="4.jpg" subset="Validation" task_id="35" width="200" height="100">
    <mask label="car" source="semi-auto" occluded="0" rle="2, 3, 1" left="5" top="7" width="3" height="2" z_order="0">
      <attribute name="parked">false</attribute>
    </mask>
    <ellipse label="vélo" source="manual" occluded="0" cx="50.00" cy="50.00" rx="20.00" ry="10.00" z_order="0">
    </ellipse>
    <tag label="scene" source="manual">
      <attribute name="rain">false</attribute>
      <attribute name="time">day</attribute>
    </tag>
  </image>
  <image id="4" name="5.jpg" subset="default" task_id="36" width="200" height="100">
    <polyline label="vélo" source="manual" occluded="0" points="1.00,2.00;3.00,4.00" z_order="0">
    </polyline>
    <points label="car" source="manual" occluded="0" points="1.00,2.00" z_order="0">
      <attribute name="parked">false</attribute>
    </points>
  </image>
</annotations>
"""
IMAGES = ("Train/a/1.jpg", "Train/2.jpg", "Train/3.jpg", "Validation/4.jpg", "default/5.jpg")


def write(root: Path) -> Path:
    """Writes the export below `root` and returns its folder."""
    (root / "annotations.xml").write_text(XML, encoding="utf-8")
    for name in IMAGES:
        file = root / "images" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return root
