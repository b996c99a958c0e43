-- What acid wrote into a store of version 8: three runs, one of which a search tried, two of which
-- were verified.
INSERT INTO attempts VALUES(1,1,1,'there','boot',7,7,'2026-11-26T10:25:50.348Z',
  '2026-11-26T10:25:50.351Z','2026-11-26T10:25:50.351Z','finished','',NULL,4,2.0,0.2,200,
  '{"host":"there"}','{"init":5}',NULL,'{}',NULL);
INSERT INTO attempts VALUES(2,2,1,'there','boot',7,7,'2026-11-26T10:25:50.360Z',
  '2026-11-26T10:25:50.365Z','2026-11-26T10:25:50.365Z','finished','',NULL,4,2.0,0.2,200,
  '{"host":"there"}','{"init":5}',NULL,'{}',NULL);
INSERT INTO edges VALUES(1,0,1,0.5,3);
INSERT INTO edges VALUES(2,0,1,0.5,3);
INSERT INTO event_chunks VALUES(1,1,0,0,1,X'000000000000F03F070000000100D755');
INSERT INTO event_chunks VALUES(1,2,1,0,1,X'000000000000F03F070000000100B6F9');
INSERT INTO event_chunks VALUES(1,3,0,1,1,X'00000000000000400700000001000A7B');
INSERT INTO event_chunks VALUES(1,4,1,1,1,X'00000000000000400700000001006BD7');
INSERT INTO event_chunks VALUES(2,1,0,0,1,X'000000000000F03F070000000100D755');
INSERT INTO event_chunks VALUES(2,2,1,0,1,X'000000000000F03F070000000100B6F9');
INSERT INTO event_chunks VALUES(2,3,0,1,1,X'00000000000000400700000001000A7B');
INSERT INTO event_chunks VALUES(2,4,1,1,1,X'00000000000000400700000001006BD7');
INSERT INTO experiment_runs VALUES(1,0,1,'one',
  'ad795babb43260c5f24dcced7993cc2c0246a0565c3ec800824a7e28c6cf035d','');
INSERT INTO experiment_runs VALUES(1,1,2,'two',
  '3ca833c3a4d6ce232ca4d213835c1b56a5b524c1281c4a01162a9782a2a882f1','');
INSERT INTO experiment_runs VALUES(1,2,3,'two',
  '2ee363da957af9dd14f9df59050faad6d42d8a7b60ecdbb5f913454297ed913f','search');
INSERT INTO experiments VALUES(1,'adc18aa1ea65','before','before.toml','name = "before"
','adc18aa1ea655c8877919b92825d24d44c76f73eecb6984351dbb67c3163909b','[]','acid run before.toml',
  '2026-11-26T10:25:50.345Z','30041dd62e947ace116e1ef9b27a0bcfb3315fc2452dcdd0a3b47f2d9e49669d',
  '{"tried":1}','{"primary":"eval_loss"}');
INSERT INTO file_digests VALUES(1,0,'data.bin','d');
INSERT INTO file_digests VALUES(2,0,'data.bin','d');
INSERT INTO holdings VALUES(1,0,7,'[3,4]');
INSERT INTO holdings VALUES(1,1,11,'[5,6]');
INSERT INTO holdings VALUES(2,0,7,'[3,4]');
INSERT INTO holdings VALUES(2,1,11,'[5,6]');
INSERT INTO log VALUES(1,1,'2026-11-26T10:25:50.349Z','warning','a remark');
INSERT INTO log VALUES(2,2,'2026-11-26T10:25:50.361Z','warning','a remark');
INSERT INTO points VALUES(1,1,1.0,0);
INSERT INTO points VALUES(1,2,0.5,0);
INSERT INTO points VALUES(2,1,0.5,0);
INSERT INTO points VALUES(2,2,0.5,0);
INSERT INTO points VALUES(3,1,1.0,0);
INSERT INTO points VALUES(3,2,0.5,0);
INSERT INTO points VALUES(4,1,0.5,0);
INSERT INTO points VALUES(4,2,0.5,0);
INSERT INTO results VALUES(1,'m',0.0,NULL,NULL,7,0,0,'[]',NULL,NULL,NULL);
INSERT INTO results VALUES(2,'m',0.0,NULL,NULL,7,0,0,'[]',NULL,NULL,NULL);
INSERT INTO runs VALUES(1,'068bdd42a010',
  '068bdd42a0105a172437a1248411114b35a24e24db4691bc2a27453a034abd57',
  'cd0aa9856147b6c5b4ff2b7dfee5da20aa38253099ef1b4a64aced233c9afe29','ad-psgd',1,'virtual','ring',2
  ,4,'{"algorithm":{"kind":"ad-psgd"},"seed":1}','{"chi1":1.5}','2026-11-26T10:25:50.345Z',
  '3ccd2f2c29422c8ee30aa0c79c6780dfdd213e53ed2cc495bd611547f638a92f');
INSERT INTO runs VALUES(2,'9f98c28a5f54',
  '9f98c28a5f5472e1084e4f07da56d2b5eea5ed2cfcadc7ab68b5bfe08db8a9c8',
  'cd0aa9856147b6c5b4ff2b7dfee5da20aa38253099ef1b4a64aced233c9afe29','ad-psgd',2,'virtual','ring',2
  ,4,'{"algorithm":{"kind":"ad-psgd"},"seed":2}','{"chi1":1.5}','2026-11-26T10:25:50.345Z',
  '5364d9d4dc7840f6082f636efebc4fcff3b09587eaa35ef96b0e1353ff446dae');
INSERT INTO runs VALUES(3,'7d995724588b',
  '7d995724588b587ee2e3d8f12edb1f1b44fb0f24aa1a44caaada932b8e37f905',
  'cd0aa9856147b6c5b4ff2b7dfee5da20aa38253099ef1b4a64aced233c9afe29','ad-psgd',3,'virtual','ring',2
  ,4,'{"algorithm":{"kind":"ad-psgd"},"seed":3}','{"chi1":1.5}','2026-11-26T10:25:50.345Z',
  'b6a7060a582f80b5c6e7db77767368235cd0e0d7bd59734507a36764e82713de');
INSERT INTO series VALUES(1,1,-1,'train_loss_at_mean','1',-1,2,2,0.5,0,2,0.5);
INSERT INTO series VALUES(2,1,1,'staleness','updates',-1,2,2,0.5,0,1,0.5);
INSERT INTO series VALUES(3,2,-1,'train_loss_at_mean','1',-1,2,2,0.5,0,2,0.5);
INSERT INTO series VALUES(4,2,1,'staleness','updates',-1,2,2,0.5,0,1,0.5);
INSERT INTO ticks VALUES(1,1,2,1.0,0.1,100);
INSERT INTO ticks VALUES(1,2,4,2.0,0.2,200);
INSERT INTO ticks VALUES(2,1,2,1.0,0.1,100);
INSERT INTO ticks VALUES(2,2,4,2.0,0.2,200);
INSERT INTO verifications VALUES(1,1,'2026-11-26T10:25:50.353Z','vm',1,'all',NULL,'null',
  'ff1b6d2d8b099751f59aeda862a348d76b519d221a106eda51e6baeb0687d417');
INSERT INTO verifications VALUES(2,2,'2026-11-26T10:25:50.366Z','vm',1,'all',NULL,'null',
  '6410904b204509e6351e517fae3c9d0aadcf0000e7a088be0e2993ed19c05746');
INSERT INTO worker_results VALUES(1,0,'a',NULL,NULL);
INSERT INTO worker_results VALUES(1,1,'b',NULL,NULL);
INSERT INTO worker_results VALUES(2,0,'a',NULL,NULL);
INSERT INTO worker_results VALUES(2,1,'b',NULL,NULL);
